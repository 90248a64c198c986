import { SignJWT } from "jose";
import { digestOf } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createKey } from "../../plugins/keys/key.ts";
import { definePlugin, type GatewayConfigInput, type Json } from "../../core/index.ts";
import { setupGateway, type PluginEntry } from "../../core/testing/index.ts";
import payloads from "../../plugins/payloads/index.ts";
import ratelimit from "../../plugins/ratelimit/index.ts";

const SECRET = "a secret of at least 32 characters";
const KEY = createKey("caller");
const MASTER = "the-master-key-of-this-gateway";

const tokenOf = (sub: string): Promise<string> =>
  new SignJWT({ sub, role: "caller" })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("1m")
    .sign(new TextEncoder().encode(SECRET));

/** A tool that asks its caller, and one whose results are large. */
const tools = definePlugin({
  name: "tools",
  setup(gateway) {
    gateway.tool("ask", {
      description: "Asks.",
      run: async (_args, { peer }) =>
        JSON.stringify(
          await peer.ask("elicitation/create", {
            message: "Sure?",
            requestedSchema: { type: "object", properties: {} },
          }),
        ),
    });
    gateway.tool("large", {
      description: "Answers much.",
      input: z.object({}),
      run: () => "x".repeat(4_000),
    });
  },
});

async function start(plugins: readonly PluginEntry[] = []): Promise<string> {
  const auth: GatewayConfigInput["auth"] = {
    apiKey: MASTER,
    keys: { x: { role: "caller", hash: `sha256:${digestOf(KEY)}` } },
    jwt: { secret: SECRET },
  };
  const { gateway } = await setupGateway({
    plugins: [tools, ...plugins],
    config: { auth },
    client: false,
  });
  return gateway.endpoints[0]!.url;
}

/** Two people whose credentials differ in kind and whose ids are the same. */
const TWINS = [
  ["a key and a subject", KEY, "x"],
  ["the master key and a subject", MASTER, "api-key"],
] as const;

async function post(
  url: string,
  bearer: string,
  message: Json,
  more: Record<string, string> = {},
): Promise<{ readonly response: Response; readonly body: Json }> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${bearer}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...more,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
  const text = await response.text();
  return { response, body: (text === "" ? {} : JSON.parse(text)) as Json };
}

const modern = (name: string, params: Json = {}): [Json, Record<string, string>] => [
  {
    method: "tools/call",
    params: {
      name,
      arguments: {},
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
      },
      ...params,
    },
  },
  { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name },
];

describe.each(TWINS)("T4: %s with one id are two people", (_who, key, sub) => {
  it("a session of one is unknown to the other", async () => {
    const url = await start();
    const other = await tokenOf(sub);
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    };
    const { response } = await post(url, key, { method: "initialize", params });
    const session = { "mcp-session-id": response.headers.get("mcp-session-id")! };
    const statuses = await Promise.all(
      [key, other].map(
        async (bearer) =>
          (await post(url, bearer, { method: "tools/list" }, session)).response.status,
      ),
    );
    expect(statuses).toEqual([200, 404]);
  });

  it("a held call of one is not answered by the other", async () => {
    const url = await start();
    const { body } = await post(url, key, ...modern("ask"));
    const { requestState, resultType } = body["result"] as Json;
    expect(resultType).toBe("input_required");
    const retry = { requestState, inputResponses: { "input-1": { action: "accept" } } };
    const foreign = await post(url, await tokenOf(sub), ...modern("ask", retry));
    expect(foreign.body["error"]).toMatchObject({ code: -32602 });
    const own = await post(url, key, ...modern("ask", retry));
    expect(own.body["result"]).toMatchObject({ content: [{ text: '{"action":"accept"}' }] });
  });

  it("a stored result of one is not read by the other", async () => {
    const url = await start([[payloads, { results: { above: 1_000 } }]]);
    const token = await tokenOf(sub);
    const { body } = await post(url, token, ...modern("large"));
    const { content } = body["result"] as { content: { uri?: string }[] };
    const id = content.at(-1)!.uri!.slice("payload://".length);
    const read = async (bearer: string): Promise<number> => {
      const { href } = new URL(`/api/agents/${id}/payload`, url);
      return (await fetch(href, { headers: { authorization: `Bearer ${bearer}` } })).status;
    };
    // The master key may read everything as an operator; another key may not.
    expect([await read(token), await read(key)]).toEqual([200, key === MASTER ? 200 : 404]);
  });

  it("each has a bucket of its own", async () => {
    const rates = { each: { per: "principal", rate: 0.001, burst: 1 } };
    const url = await start([[ratelimit, { rates }]]);
    const call = async (bearer: string): Promise<boolean> =>
      "result" in (await post(url, bearer, ...modern("large"))).body;
    const token = await tokenOf(sub);
    expect([await call(key), await call(key), await call(token)]).toEqual([true, false, true]);
  });
});

it("T4: a named key cannot have the name of the master key", async () => {
  const auth: GatewayConfigInput["auth"] = {
    apiKey: MASTER,
    keys: { "api-key": { role: "viewer", hash: `sha256:${digestOf(KEY)}` } },
  };
  await expect(setupGateway({ config: { auth }, client: false })).rejects.toMatchObject({
    code: "exists",
    data: { path: "auth.keys.api-key" },
  });
});
