import { Client } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { createKey } from "../../plugins/keys/key.ts";
import { definePlugin, type Identity, type Principal, type Role } from "../../core/index.ts";
import { Authenticators, digestOf } from "propylon/kit";
import { connectClient, setupGateway, type PluginEntry } from "../../core/testing/index.ts";

const KEYS = {
  viewer: createKey("viewer"),
  caller: createKey("caller"),
  operator: createKey("operator"),
  service: createKey("service"),
} as const;
const SECRET = "a secret of at least 32 characters";
const AUTH = {
  keys: Object.fromEntries(
    Object.entries(KEYS).map(([role, key]) => [
      role,
      { role: role as Role, hash: `sha256:${digestOf(key)}` },
    ]),
  ),
  jwt: { secret: SECRET },
};
let calls = 0;
const tool = definePlugin({
  name: "tool",
  setup: (gateway) =>
    gateway.tool("who", {
      description: "Says who calls.",
      run: (_args, { principal }) => `${++calls} ${principal.id}`,
    }),
});
/** Knows two people; a plugin as others write them, which never heard of our roles. */
const people = definePlugin({
  name: "people",
  setup: (gateway) =>
    gateway.add(Authenticators, {
      name: "people",
      authenticate: ({ headers }): Identity | undefined => {
        if (headers["authorization"] === "Bearer ada")
          return { id: "ada", kind: "user", roles: new Set() };
        if (headers["authorization"] === "Bearer eve")
          return { id: "eve", kind: "user", roles: new Set(["viewer"]) };
        return undefined;
      },
      challenge: () => "Bearer",
      admits: (_principal: Principal, access: string) => access === "principal",
    }),
});

async function start(plugins: readonly PluginEntry[] = []) {
  const { gateway } = await setupGateway({
    plugins: [tool, ...plugins],
    config: { auth: AUTH },
    client: false,
  });
  return gateway.endpoints[0]!.url;
}
/** What the two clients make of a 403: the newer one reads its challenge. */
const REFUSED = [
  expect.stringContaining('This needs the role \\"caller\\"'),
  'Insufficient scope: required "caller"',
];
const jwt = (claims: object): Promise<string> =>
  new SignJWT({ sub: "grace", ...claims })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("1m")
    .sign(new TextEncoder().encode(SECRET));

/** What two real clients, one of each generation, get for a call with these credentials. */
async function call(url: string, token: string): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${token}` };
  const told = async (client: {
    callTool(params: { name: string }): Promise<unknown>;
    close(): Promise<void>;
  }): Promise<string> => {
    const { content } = (await client.callTool({ name: "who" })) as { content: [{ text: string }] };
    await client.close();
    return content[0].text.replace(/^\d+ /, "");
  };
  const failed = (error: Error): string => error.message;
  const modern = new Client({ name: "modern", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  return Promise.all([
    connectClient(url, { headers }).then(told).catch(failed),
    modern
      .connect(transport)
      .then(() => told(modern))
      .catch(failed),
  ]);
}

describe("T17: an MCP endpoint is for callers", () => {
  it("who may only look is refused with the missing role, by any method, before anything runs", async () => {
    const url = await start();
    calls = 0;
    for (const key of [KEYS.viewer, KEYS.service, await jwt({}), await jwt({ role: "root" })])
      for (const method of ["POST", "GET", "DELETE"]) {
        const response = await fetch(url, {
          method,
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: method === "POST" ? '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' : null,
        });
        expect(response.status).toBe(403);
        expect(response.headers.get("www-authenticate")).toBe(
          'Bearer error="insufficient_scope", scope="caller"',
        );
        expect(await response.json()).toEqual({
          jsonrpc: "2.0",
          id: null,
          error: {
            code: -32000,
            message: 'This needs the role "caller".',
            data: { code: "forbidden", hint: "Use credentials that have it.", role: "caller" },
          },
        });
      }
    expect(await call(url, KEYS.viewer)).toEqual(REFUSED);
    expect(calls).toBe(0);
  });

  it("callers, those above them and tokens with such a role call, and are known by name", async () => {
    const url = await start();
    expect(await call(url, KEYS.caller)).toEqual(["caller", "caller"]);
    expect(await call(url, KEYS.operator)).toEqual(["operator", "operator"]);
    expect(await call(url, await jwt({ role: ["caller"] }))).toEqual(["grace", "grace"]);
  });

  it("people of a plugin call without any role, and the config's keys work beside them", async () => {
    const url = await start([people]);
    expect(await call(url, "ada")).toEqual(["ada", "ada"]);
    expect(await call(url, "eve")).toEqual(REFUSED);
    expect(await call(url, KEYS.caller)).toEqual(["caller", "caller"]);
    expect(await call(url, KEYS.viewer)).toEqual(REFUSED);
  });
});
