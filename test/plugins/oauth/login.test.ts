import * as modernSdk from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { Program } from "./attempt.ts";
import { documentOf, sendJson, serveDocuments } from "./client-documents.ts";
import { Person, setupLogin } from "./kit.ts";

interface AnyClient {
  callTool(params: { name: string }): Promise<unknown>;
  close(): Promise<void>;
}
interface Attempt {
  readonly client: AnyClient;
  readonly connect: () => Promise<void>;
  readonly finish: (person: Person) => Promise<void>;
}

function legacy(endpoint: string, person: Person): Attempt {
  const transport = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: person });
  const client = new Client({ name: "legacy", version: "1" });
  return {
    client,
    connect: () => client.connect(transport),
    finish: ({ code }) => transport.finishAuth(code),
  };
}

function modern(endpoint: string, person: Person): Attempt {
  const transport = new modernSdk.StreamableHTTPClientTransport(new URL(endpoint), {
    authProvider: person as unknown as modernSdk.OAuthClientProvider,
  });
  const client = new modernSdk.Client(
    { name: "modern", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  return {
    client,
    connect: () => client.connect(transport),
    // With the whole answer it checks iss too (RFC 9207).
    finish: ({ answer }) => transport.finishAuth(answer!.searchParams),
  };
}

const CLIENTS = { "SDK 1.x, 2025-11-25": legacy, "SDK 2.x, 2026-07-28": modern } as const;

const textOf = (result: unknown): string =>
  (result as { content: [{ text: string }] }).content[0].text;

/** The first attempt is refused, the browser comes back with a code, the second gets in. */
async function login(make: typeof legacy, endpoint: string, person: Person): Promise<AnyClient> {
  const first = make(endpoint, person);
  await expect(first.connect()).rejects.toThrow(/unauthorized/i);
  await first.finish(person);
  const second = make(endpoint, person);
  await second.connect();
  onTestFinished(() => second.client.close());
  return second.client;
}

/** Has a call that runs until it is cancelled. */
const slow = definePlugin({
  name: "slow",
  setup(gateway) {
    gateway.tool("wait", {
      description: "Runs until it is cancelled.",
      run: (_args, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    });
  },
});

describe.each(Object.entries(CLIENTS))("a client of %s", (_name, make) => {
  it("registers, logs in at the provider and calls", async () => {
    const { endpoint, url } = await setupLogin();
    const person = new Person();
    const client = await login(make, endpoint, person);
    expect(textOf(await client.callTool({ name: "who" }))).toBe("user:login:ada");
    expect(person.asked[0]!.searchParams.get("resource")).toBe(endpoint);
    expect(person.answer!.searchParams.get("iss")).toBe(url);
  });

  it("is known by its metadata document, and registers nowhere", async () => {
    const { url: document, paths } = await serveDocuments((_req, res, own) =>
      sendJson(res, documentOf(own)),
    );
    const { endpoint } = await setupLogin({ options: { allowedAddresses: ["127.0.0.1"] } });
    const person = new Person({ document });
    const client = await login(make, endpoint, person);
    expect(textOf(await client.callTool({ name: "who" }))).toBe("user:login:ada");
    expect(person.asked[0]!.searchParams.get("client_id")).toBe(document);
    expect(person.client).toMatchObject({ client_id: document });
    expect(paths).toEqual(["/client.json"]);
  });

  it("refreshes a token that is over, without its person", async () => {
    // SDK 1.x may refresh for its stream and for its call at once.
    const options = { accessToken: "5m", reuseGrace: "10s" };
    const { endpoint } = await setupLogin({ options });
    const person = new Person();
    const client = await login(make, endpoint, person);
    const { access_token: before, refresh_token: used } = person.saved!;
    // jose asks for the date, which sockets and timers do not need.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 6 * 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect(textOf(await client.callTool({ name: "who" }))).toBe("user:login:ada");
    expect(person.saved!.access_token).not.toBe(before);
    expect(person.saved!.refresh_token).not.toBe(used);
    expect(person.asked).toHaveLength(1);
  });

  it("logs in once more for a scope that is missing (step-up)", async () => {
    const { endpoint, url } = await setupLogin({
      resource: { scopes: { look: "viewer", "mcp:call": "caller" } },
      options: { roles: { caller: "everyone" } },
    });
    const program = new Program(url);
    const { access_token } = await program.tokens({}, { scope: "look" });
    const person = new Person();
    person.client = { client_id: program.id };
    person.saved = { token_type: "Bearer", access_token: access_token! };
    const client = await login(make, endpoint, person);
    expect(person.asked[0]!.searchParams.get("scope")?.split(" ").toSorted()).toEqual([
      "look",
      "mcp:call",
    ]);
    expect(textOf(await client.callTool({ name: "who" }))).toBe("user:login:ada");
  });

  it("that signs out ends its running call, and has to log in anew", async () => {
    const { gateway, endpoint, url } = await setupLogin({ plugins: [slow] });
    const person = new Person();
    const client = await login(make, endpoint, person);
    const ended = client.callTool({ name: "wait" }).catch((error: Error) => error.message);
    await expect.poll(() => gateway.inFlight).toBe(1);
    const { client_id } = person.client!;
    const form = { token: person.saved!.refresh_token!, client_id };
    const revoked = await fetch(`${url}/oauth/revoke`, {
      method: "POST",
      body: new URLSearchParams(form),
    });
    expect(revoked.status).toBe(200);
    expect(await ended).toContain("The program logged out.");
    await expect(client.callTool({ name: "who" })).rejects.toThrow(/login is over|unauthorized/i);
    expect(person.asked).toHaveLength(1);
    person.saved = undefined;
    const anew = await login(make, endpoint, person);
    expect(person.asked).toHaveLength(2);
    expect(textOf(await anew.callTool({ name: "who" }))).toBe("user:login:ada");
  });
});
