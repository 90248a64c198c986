import * as modernSdk from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, it, onTestFinished } from "vitest";
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

describe.each(Object.entries(CLIENTS))("a client of %s", (_name, make) => {
  it("registers, logs in at the provider and calls", async () => {
    const { endpoint, url } = await setupLogin();
    const person = new Person();
    const client = await login(make, endpoint, person);
    expect(textOf(await client.callTool({ name: "who" }))).toBe("user:login:ada");
    expect(person.asked[0]!.searchParams.get("resource")).toBe(endpoint);
    expect(person.answer!.searchParams.get("iss")).toBe(url);
  });
});
