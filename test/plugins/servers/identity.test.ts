import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { once } from "node:events";
import { createLocalJWKSet, createRemoteJWKSet, jwtVerify } from "jose";
import { pino } from "pino";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { definePlugin, type GatewayConfigInput, type Json } from "../../../core/index.ts";
import {
  connectClient,
  connectModernClient,
  fakeUpstream,
  setupGateway,
  team,
  user,
} from "../../../core/testing/index.ts";
import { Fernet } from "../../../core/kit.ts";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import access from "../../../plugins/access/index.ts";
import { Assertions, storedKeySchema } from "../../../plugins/servers/connection/identity.ts";
import openapi from "../../../plugins/openapi/index.ts";
import { makeFolder } from "../../kit/folder.ts";

const CLAIM = { "propylon/identity": "I am the king", "propylon/else": 1, "example/kept": true };

describe("what is reserved", () => {
  it("reaches no server from a client, in _meta or as a header, in either era and over HTTP", async () => {
    const shop = await fakeUpstream({ price: () => "3 EUR" });
    const { gateway, url } = await setupGateway({
      plugins: [[openapi, { forwardHeaders: { shop: { allow: ["*"] } } }]],
      config: { servers: { shop: { url: shop.url, headers: { "Propylon-Identity": "me" } } } },
      client: false,
    });
    const headers = { "propylon-identity": "I am the king", "x-kept": "yes" };
    const at = gateway.endpoints[0]!.url;
    for (const connect of [connectClient, connectModernClient]) {
      const client = await connect(at, { headers });
      await client.callTool({ name: "price", arguments: {}, _meta: CLAIM });
      await client.close();
    }
    const reply = await fetch(`${url}/shop/price`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: "{}",
    });
    expect(reply.status).toBe(200);
    await gateway.call({ server: "shop", name: "price", meta: CLAIM });
    expect(shop.calls).toHaveLength(4);
    for (const { meta, headers: got } of shop.calls) {
      expect(JSON.stringify([meta ?? {}, got])).not.toMatch(/king|"propylon\/(?:identity|else)/);
      expect(got["propylon-identity"]).toBeUndefined();
    }
    expect(shop.calls[0]!.meta).toMatchObject({ "example/kept": true });
    expect(shop.calls[2]!.meta).toMatchObject({ headers: { "x-kept": "yes" } });
  });

  it("reaches no tool of a plugin either, except how long a call may run", async () => {
    const seen: (Json | undefined)[] = [];
    const own = definePlugin({
      name: "own",
      setup: (gateway) =>
        void gateway.tool("look", {
          description: "Looks.",
          run(_args, { meta }) {
            seen.push(meta);
            return "seen";
          },
        }),
    });
    const { client } = await setupGateway({ plugins: [own] });
    await client.callTool({ name: "look", _meta: { ...CLAIM, "propylon/timeout": 5 } });
    expect(seen).toEqual([{ "example/kept": true, "propylon/timeout": 5 }]);
  });

  it.each([
    ["as it is", '"propylon/identity":"king"'],
    ["with escaped letters", '"\\u0070ropylon/identity":"king"'],
    ["with other escapes", '"p\\u0072opylon\\u002fidentity":"king"'],
    ["with an escaped slash", '"propylon\\/identity":"king"'],
  ])("reaches no client from a server, written %s", async (_, member) => {
    for (const padding of ["", "x".repeat(20_000)]) {
      const claims = await rawServer(
        (id) =>
          `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"propylon/ stays in a text ${padding}"}],"_meta":{${member},"kept":true}}}`,
      );
      const { gateway } = await setupGateway({
        config: { servers: { raw: { url: claims, protocol: "legacy" } } },
        client: false,
      });
      for (const connect of [connectClient, connectModernClient]) {
        const client = await connect(gateway.endpoints[0]!.url);
        const result = (await client.callTool({ name: "say", arguments: {} })) as Json;
        await client.close();
        expect(result["_meta"]).toMatchObject({ kept: true });
        expect(JSON.stringify(result["_meta"])).not.toContain("king");
        expect(JSON.stringify(result["content"])).toContain("propylon/ stays in a text");
      }
    }
  });
});

/** A server that says exactly what it is told to. */
async function rawServer(answer: (id: string) => string): Promise<string> {
  const server: Server = createServer((req, res) => {
    let body = "";
    req.on("data", (chunk: Buffer) => (body += chunk.toString()));
    req.on("end", () => {
      if (req.method !== "POST") return res.writeHead(405).end();
      const { id, method, params } = JSON.parse(body) as {
        id?: unknown;
        method: string;
        params?: { protocolVersion?: string };
      };
      if (id === undefined) return res.writeHead(202).end();
      const results: Record<string, object> = {
        initialize: {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "raw", version: "1" },
        },
        "tools/list": { tools: [{ name: "say", inputSchema: { type: "object" } }] },
      };
      const result = results[method];
      const text =
        method === "tools/call"
          ? answer(JSON.stringify(id))
          : JSON.stringify({ jsonrpc: "2.0", id, result: result ?? {} });
      return res.writeHead(200, { "content-type": "application/json" }).end(text);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`;
}

const JWKS = "/.well-known/propylon/jwks.json";

describe("an assertion", () => {
  const kottos = team("kottos", ["lib-b", "lib-a"]);

  it("T011: tells a server who calls and what they may read, and never the bearer", async () => {
    const shop = await fakeUpstream({ price: () => "3 EUR" });
    const { client, url, headers } = await setupGateway({
      as: kottos,
      plugins: [access],
      config: { servers: { shop: { url: shop.url, identity: "assertion" } } },
    });
    await client.callTool({ name: "price", arguments: {}, _meta: CLAIM });
    const [call] = shop.calls;
    const token = call!.headers["propylon-identity"] as string;
    expect(call!.meta).toMatchObject({ "propylon/identity": token, "example/kept": true });
    expect(call!.headers["authorization"]).toBeUndefined();
    expect(JSON.stringify(shop.calls)).not.toContain(headers["authorization"]!.slice(7));
    // As a server would check it.
    const keys = createRemoteJWKSet(new URL(url + JWKS));
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      audience: shop.url,
      issuer: "propylon",
      algorithms: ["EdDSA"],
      typ: "propylon-identity+jwt",
    });
    expect(protectedHeader.alg).toBe("EdDSA");
    expect(payload).toMatchObject({ sub: "team:kottos", libraries: ["lib-b", "lib-a"] });
    expect(payload.exp! - payload.iat!).toBe(60);
    expect(payload["call"]).toEqual(expect.any(String));
    await expect(jwtVerify(token, keys, { audience: "https://other.example/mcp" })).rejects.toThrow(
      /aud/,
    );
    const published = (await (await fetch(url + JWKS)).json()) as { keys: Json[] };
    expect(published.keys.map((key) => key["d"])).toEqual([undefined]);
    expect(createLocalJWKSet(published as never)).toBeDefined();
  });

  it("says of somebody without a set that it is empty, and is another for every call", async () => {
    const shop = await fakeUpstream({ price: () => "3 EUR" });
    const { client } = await setupGateway({
      as: user("ann"),
      plugins: [access],
      config: { servers: { shop: { url: shop.url, identity: "assertion" } } },
    });
    await client.callTool({ name: "price", arguments: {} });
    await client.callTool({ name: "price", arguments: {} });
    const tokens = shop.calls.map(({ headers }) => String(headers["propylon-identity"]));
    expect(new Set(tokens).size).toBe(2);
    const claims = JSON.parse(Buffer.from(tokens[0]!.split(".")[1]!, "base64url").toString());
    expect(claims).toMatchObject({ sub: "user:ann", libraries: [] });
  });

  it("is not there for servers that are not told, and nor are the keys", async () => {
    const shop = await fakeUpstream({ price: () => "3 EUR" });
    const { client, url } = await setupGateway({
      as: kottos,
      plugins: [access],
      config: { servers: { shop: { url: shop.url } } },
    });
    await client.callTool({ name: "price", arguments: {} });
    expect(shop.calls[0]!.headers["propylon-identity"]).toBeUndefined();
    expect(shop.calls[0]!.meta).toBeUndefined();
    expect((await fetch(url + JWKS)).status).toBe(404);
  });

  it("is not sent where nobody publishes its keys: the server could not check it", async () => {
    const shop = await fakeUpstream({ price: () => "3 EUR" });
    const { client } = await setupGateway({
      as: kottos,
      config: { servers: { shop: { url: shop.url, identity: "assertion" } } },
    });
    const answer = await client.callTool({ name: "price", arguments: {} });
    expect(JSON.stringify(answer)).toContain("publishes the keys");
    expect(shop.calls).toEqual([]);
  });

  it("is refused where the stored key cannot be read, and the store is not asked again and again", async () => {
    const store = GatewayStore.inMemory(pino({ level: "silent" })).scope("servers");
    await store.kv("identity").put("signing", "of another form");
    const assertions = new Assertions(store.kv("identity", { schema: storedKeySchema }));
    assertions.publish();
    assertions.isUsed = true;
    await expect(assertions.keySet()).rejects.toThrow(
      expect.objectContaining({
        code: "invalid",
        message: expect.stringContaining("cannot be read") as string,
      }),
    );
  });

  it("is signed with one key by all gateways of a store", async () => {
    const store = `sqlite:${process.env["TMPDIR"] ?? "/tmp"}/identity-${process.pid}.db`;
    const config: GatewayConfigInput = {
      store,
      servers: { shop: { url: "http://127.0.0.1:9/mcp", identity: "assertion" } },
    };
    const kids: unknown[] = [];
    for (let start = 0; start < 2; start++) {
      const { gateway, url } = await setupGateway({ plugins: [access], config, client: false });
      const { keys } = (await (await fetch(url + JWKS)).json()) as { keys: Json[] };
      kids.push(keys[0]!["kid"]);
      await gateway.close({ grace: 0 });
    }
    expect(kids[0]).toBe(kids[1]);
  });

  it("is signed with the key of before once that is sealed, and the store has it no more in the open", async () => {
    const folder = makeFolder();
    onTestFinished(() => void vi.unstubAllEnvs());
    const config: GatewayConfigInput = {
      store: `sqlite:${join(folder, "gateway.db")}`,
      servers: { shop: { url: "http://127.0.0.1:9/mcp", identity: "assertion" } },
    };
    const start = async () => {
      const { gateway, url } = await setupGateway({ plugins: [access], config, client: false });
      const { keys } = (await (await fetch(url + JWKS)).json()) as { keys: Json[] };
      const warnings = collectWarnings(gateway).map(({ message }) => message);
      await gateway.close({ grace: 0 });
      return { kid: keys[0]!["kid"], warnings: warnings.join(" ") };
    };
    const stored = (): string =>
      readdirSync(folder)
        .map((name) => readFileSync(join(folder, name), "latin1"))
        .join("");
    const open = await start();
    expect(open.warnings).toContain("stands in the store in the open");
    expect(stored()).toMatch(/"d":"[\w-]{43}"/);
    vi.stubEnv("SECRET_KEY", "a secret of this test that is long enough");
    for (const _ of [1, 2]) {
      const sealed = await start();
      expect(sealed.kid).toBe(open.kid);
      expect(sealed.warnings).not.toContain("in the open");
    }
    expect(stored()).not.toMatch(/"d":"[\w-]{43}"/);
    const [token] = /gAAAAA[\w-]+={0,2}/.exec(stored()) ?? [];
    expect(new Fernet([process.env["SECRET_KEY"]!]).open(token!)).toContain('"d":');
  });
});

describe("servers.x.libraries", () => {
  const asked: Json[] = [];
  const EMPTY = { results: [] };
  const search = {
    input: {
      type: "object" as const,
      properties: { query: { type: "string" }, library_uids: { type: "array" } },
      required: ["query", "library_uids"],
    },
    run: (args: Json) => {
      asked.push(args);
      return "found";
    },
  };
  const start = async (libraries: readonly string[] | undefined) => {
    const upstream = await fakeUpstream({ search, other: search });
    const rules = { search: { argument: "library_uids", empty: EMPTY } };
    return setupGateway({
      as: team("kottos", libraries),
      plugins: [openapi],
      config: { servers: { library: { url: upstream.url, libraries: rules } } },
    });
  };
  beforeEach(() => void asked.splice(0));

  it("sets the argument to the caller's set, which the caller can only narrow", async () => {
    const { client, url, headers } = await start(["a", "b", "c"]);
    const ask = (args: Json) =>
      client.callTool({ name: "search", arguments: { query: "x", ...args } });
    await ask({});
    await ask({ library_uids: ["c", "a", "secret"] });
    await fetch(`${url}/library/search`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ query: "x", library_uids: ["b", "z"] }),
    });
    expect(asked.map((args) => args["library_uids"])).toEqual([["a", "b", "c"], ["a", "c"], ["b"]]);
    expect(asked[0]!["query"]).toBe("x");
    const wrong = await ask({ library_uids: "a" });
    expect(wrong).toMatchObject({ isError: true });
    expect(asked).toHaveLength(3);
  });

  it("answers for an empty set itself, and sends nothing", async () => {
    for (const libraries of [[], undefined]) {
      const { client } = await start(libraries);
      const answer = await client.callTool({ name: "search", arguments: { query: "x" } });
      expect(answer["structuredContent"]).toEqual(EMPTY);
    }
    const { client } = await start(["a"]);
    const answer = await client.callTool({
      name: "search",
      arguments: { query: "x", library_uids: ["b"] },
    });
    expect(answer["structuredContent"]).toEqual(EMPTY);
    expect(asked).toEqual([]);
  });

  it("is not asked of clients: lists and documents do not require the argument", async () => {
    const { client, url, headers } = await start(["a"]);
    const { tools } = await client.listTools();
    const requiredBy = (tool: string) =>
      tools.find(({ name }) => name === tool)!.inputSchema.required;
    expect(requiredBy("search")).toEqual(["query"]);
    expect(requiredBy("other")).toEqual(["query", "library_uids"]);
    const document = await (await fetch(`${url}/library/openapi.json`, { headers })).text();
    expect(document).toContain('"required":["query"]');
  });

  it("needs an answer for the empty set", async () => {
    const servers = {
      library: { url: "http://127.0.0.1:9/mcp", libraries: { search: { argument: "x" } } },
    };
    await expect(setupGateway({ config: { servers } as never })).rejects.toThrow(/empty/);
  });
});
