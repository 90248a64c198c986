import { request } from "node:http";
import { Client } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { digestOf } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { createKey } from "../../plugins/keys/key.ts";
import { definePlugin } from "../../core/index.ts";
import { setupGateway } from "../../core/testing/index.ts";

const KEYS = { caller: createKey("caller"), viewer: createKey("viewer") };
const routes = definePlugin({
  name: "routes",
  setup: (gateway) =>
    gateway.route("POST", "/elsewhere", { access: "caller", mutates: false }, () => "ok"),
});

async function start() {
  const keys = Object.fromEntries(
    Object.entries(KEYS).map(([name, key]) => [
      name,
      { role: name as keyof typeof KEYS, hash: `sha256:${digestOf(key)}` },
    ]),
  );
  const { gateway, url } = await setupGateway({
    plugins: [routes],
    config: { auth: { keys }, limits: { body: "1KiB" } },
    client: false,
  });
  return { gateway, url, endpoint: gateway.endpoints[0]!.url };
}

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

interface Got {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: { readonly error: { readonly code: unknown; readonly message: string } };
}

/** By Node's own client, which sends any Host. */
function ask(url: string, { method = "POST", headers = {}, body = "{}" }: Sent): Promise<Got> {
  return new Promise((resolve, reject) => {
    const all = { "content-type": "application/json", ...headers };
    const req = request(url, { method, headers: all, agent: false }, (res) => {
      let text = "";
      res.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      res.on("end", () =>
        resolve({
          status: res.statusCode,
          headers: res.headers,
          body: JSON.parse(text) as Got["body"],
        }),
      );
    });
    req.on("error", reject);
    req.end(method === "GET" ? undefined : body);
  });
}

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const REFUSED: readonly (readonly [string, Sent, number, RegExp, Record<string, unknown>])[] = [
  ["no key", {}, 401, /required/, { "www-authenticate": expect.stringContaining("Bearer") }],
  [
    "a wrong key",
    { headers: bearer("nobody") },
    401,
    /wrong/,
    { "www-authenticate": expect.stringContaining("Bearer") },
  ],
  [
    "a missing role",
    { headers: bearer(KEYS.viewer) },
    403,
    /needs the role "caller"/,
    { "www-authenticate": expect.stringContaining('scope="caller"') },
  ],
  ["another host", { headers: { ...bearer(KEYS.caller), host: "evil.example" } }, 403, /Host/, {}],
  [
    "another origin",
    { headers: { ...bearer(KEYS.caller), origin: "https://evil.example" } },
    403,
    /origin/i,
    {},
  ],
  [
    "a body too large",
    { headers: bearer(KEYS.caller), body: JSON.stringify("x".repeat(2_000)) },
    413,
    /large/,
    {},
  ],
];

describe("a refusal at the edge", () => {
  it.each(REFUSED)(
    "of an MCP endpoint is a JSON-RPC error with its reason: %s",
    async (_why, sent, status, words, headers) => {
      const { url, endpoint } = await start();
      const rpc = await ask(endpoint, sent);
      expect(rpc).toMatchObject({
        status,
        headers,
        body: { jsonrpc: "2.0", id: null, error: { message: expect.stringMatching(words) } },
      });
      expect(rpc.body.error.code).toBeTypeOf("number");
      const other = await ask(`${url}/elsewhere`, sent);
      expect([other.status, other.body.error.code]).toEqual([status, expect.any(String)]);
      expect(other.body).toMatchObject({ ok: false });
    },
  );

  it.each(["POST", "GET"])("names the shutdown and when to come back: %s", async (method) => {
    const { gateway, endpoint } = await start();
    // A connection from before: a draining listener takes no new ones for long.
    gateway.drain();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const headers = { ...bearer(KEYS.caller), accept: "application/json, text/event-stream" };
    expect(await ask(endpoint, { method, headers, body })).toMatchObject({
      status: 503,
      headers: { "retry-after": expect.any(String) },
      body: {
        jsonrpc: "2.0",
        error: { code: -32000, message: expect.stringMatching(/shutting down/) },
      },
    });
  });

  it("is read by the official client", async () => {
    const { endpoint } = await start();
    const client = new Client({ name: "test", version: "1" });
    const transport = new StreamableHTTPClientTransport(new URL(endpoint), {
      requestInit: { headers: { ...bearer(KEYS.caller), origin: "https://evil.example" } },
    });
    await expect(client.connect(transport)).rejects.toThrow("may not use the gateway");
  });
});
