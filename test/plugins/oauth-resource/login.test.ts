import * as modernSdk from "@modelcontextprotocol/client";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from "@modelcontextprotocol/sdk/shared/auth.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { setupRig } from "./kit.ts";

const REDIRECT = "http://localhost:33418/callback";

/** A person with a browser: follows the issuer to its redirect and takes the code out of it. */
class Person implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = { client_name: "test", redirect_uris: [REDIRECT] };
  readonly asked: URL[] = [];
  code: string | undefined;
  saved: OAuthTokens | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #verifier = "";

  clientInformation() {
    return this.#client;
  }
  saveClientInformation(client: OAuthClientInformationMixed): void {
    this.#client = client;
  }
  tokens() {
    return this.saved;
  }
  saveTokens(tokens: OAuthTokens): void {
    this.saved = tokens;
  }
  async redirectToAuthorization(url: URL): Promise<void> {
    this.asked.push(url);
    const { headers } = await fetch(url, { redirect: "manual" });
    this.code = new URL(headers.get("location")!).searchParams.get("code")!;
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }
  codeVerifier(): string {
    return this.#verifier;
  }
}

interface AnyClient {
  callTool(params: { name: string }): Promise<unknown>;
  close(): Promise<void>;
}
interface Attempt {
  readonly client: AnyClient;
  readonly connect: () => Promise<void>;
  readonly finish: (code: string) => Promise<void>;
}

function legacy(endpoint: string, person: Person): Attempt {
  const transport = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: person });
  const client = new Client({ name: "legacy", version: "1" });
  return {
    client,
    connect: () => client.connect(transport),
    finish: (code) => transport.finishAuth(code),
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
    finish: (code) => transport.finishAuth(code),
  };
}

const CLIENTS = { "SDK 1.x, 2025-11-25": legacy, "SDK 2.x, 2026-07-28": modern } as const;

const textOf = (result: unknown): string =>
  (result as { content: [{ text: string }] }).content[0].text;

/** Logs in as people do: the first attempt is refused, the browser comes back with a code, the second gets in. */
async function login(make: typeof legacy, endpoint: string, person: Person): Promise<AnyClient> {
  const first = make(endpoint, person);
  await expect(first.connect()).rejects.toThrow(/unauthorized/i);
  await first.finish(person.code!);
  const second = make(endpoint, person);
  await second.connect();
  onTestFinished(() => second.client.close());
  return second.client;
}

describe.each(Object.entries(CLIENTS))("a client of %s", (_name, make) => {
  it("finds where to log in, logs in and calls", async () => {
    const { issuer, endpoint } = await setupRig({ options: { scopes: { "mcp:call": "caller" } } });
    const person = new Person();
    const client = await login(make, endpoint, person);
    expect(textOf(await client.callTool({ name: "who" }))).toBe("user:ada");
    const [asked] = person.asked;
    expect(asked!.searchParams.get("resource")).toBe(endpoint);
    expect(asked!.searchParams.get("scope")).toBe("mcp:call");
    expect(asked!.searchParams.get("code_challenge_method")).toBe("S256");
    expect(issuer.visitsTo("/register")).toHaveLength(1);
  });

  it("refreshes a token that is over, without its person", async () => {
    const { issuer, endpoint } = await setupRig();
    const person = new Person();
    issuer.lifetime = -28;
    const client = await login(make, endpoint, person);
    expect(textOf(await client.callTool({ name: "who" }))).toBe("user:ada");
    const before = issuer.visitsTo("/token").length;
    issuer.lifetime = 300;
    const { access_token: old } = person.saved!;
    // The tolerance for clocks is over then.
    await expect.poll(() => Date.now() / 1_000 > expOf(old) + 30).toBe(true);
    expect(textOf(await client.callTool({ name: "who" }))).toBe("user:ada");
    expect(issuer.visitsTo("/token").length).toBe(before + 1);
    expect(person.asked).toHaveLength(1);
  });

  it("goes on with its token while the issuer is away", async () => {
    const { issuer, endpoint } = await setupRig();
    const client = await login(make, endpoint, new Person());
    await issuer.stop();
    expect(textOf(await client.callTool({ name: "who" }))).toBe("user:ada");
  });
});

it("a client logs in once more for a scope that is missing (step-up)", async () => {
  const { issuer, endpoint } = await setupRig({
    options: { scopes: { look: "viewer", "mcp:call": "caller" } },
  });
  const person = new Person();
  issuer.grants = ["look"];
  person.saved = {
    token_type: "Bearer",
    access_token: await issuer.sign({ aud: endpoint, scope: "look" }),
  };
  issuer.grants = ["look", "mcp:call"];
  const first = modern(endpoint, person);
  await expect(first.connect()).rejects.toThrow(/unauthorized/i);
  expect(person.asked[0]!.searchParams.get("scope")?.split(" ").toSorted()).toEqual([
    "look",
    "mcp:call",
  ]);
  await first.finish(person.code!);
  const second = modern(endpoint, person);
  await second.connect();
  onTestFinished(() => second.client.close());
  expect(textOf(await second.client.callTool({ name: "who" }))).toBe("user:ada");
});

function expOf(token: string): number {
  const payload = Buffer.from(token.split(".")[1]!, "base64url").toString();
  return (JSON.parse(payload) as { exp: number }).exp;
}
