import { expect, it } from "vitest";
import { z } from "zod";
import { definePlugin } from "../../core/index.ts";
import { readJson } from "../../core/kit.ts";
import { setupGateway } from "../../core/testing/index.ts";
import a2a from "../../plugins/a2a/index.ts";
import openapi from "../../plugins/openapi/index.ts";

const LIMIT = 12;

/** Brings a tool and a route that take any JSON. */
const store = definePlugin({
  name: "store",
  setup(gateway) {
    gateway.tool("keep", {
      description: "Keeps a value.",
      input: z.object({ value: z.unknown() }),
      run: () => "kept",
    });
    gateway.route("POST", "/own", { access: "caller", mutates: false }, async (event) => {
      await readJson(event, z.object({ value: z.unknown() }));
      return { kept: true };
    });
  },
});

const SKILL = {
  id: "keep",
  description: "Keeps.",
  tags: ["x"],
  tool: { server: "store", name: "keep" },
};

const message = (value: unknown) => ({
  messageId: crypto.randomUUID(),
  role: "ROLE_USER",
  parts: [{ data: value }],
});

/** What takes JSON of clients, and a body for it that holds a value. */
const FACES: Readonly<Record<string, readonly [path: string, body: (value: unknown) => unknown]>> =
  {
    "an MCP endpoint": [
      "/mcp",
      (value) => {
        const params = { name: "store_keep", arguments: { value } };
        return { jsonrpc: "2.0", id: 1, method: "tools/call", params };
      },
    ],
    "a tool over HTTP": ["/store/keep", (value) => ({ value })],
    "a tool over HTTP, the long way": ["/store/keep?timeout=5", (value) => ({ value })],
    "a tool that the body names": [
      "/store/invoke",
      (value) => ({ tool: "keep", arguments: { value } }),
    ],
    "a route of a plugin": ["/own", (value) => ({ value })],
    "A2A contract v1": ["/", (value) => ({ message: { ...message(value), role: "user" } })],
    "A2A over JSON-RPC": [
      "/",
      (value) => {
        const params = { message: message(value) };
        return { jsonrpc: "2.0", id: 1, method: "SendMessage", params };
      },
    ],
    "A2A over HTTP+JSON": ["/message:send", (value) => ({ message: message(value) })],
  };

function nested(levels: number): unknown {
  return levels === 0 ? 1 : [nested(levels - 1)];
}

it.each(Object.entries(FACES))("limits.depth is the limit of %s", async (_, [path, bodyOf]) => {
  const { url } = await setupGateway({
    client: false,
    plugins: [store, openapi, [a2a, { listener: "main", skills: [SKILL] }]],
    config: { limits: { depth: LIMIT } },
  });
  const answer = async (levels: number): Promise<string> => {
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "a2a-version": "1.0",
      },
      body: JSON.stringify(bodyOf(nested(levels))),
    });
    return response.text();
  };
  expect(await answer(20)).toContain(`nests deeper than ${LIMIT} levels`);
  expect(await answer(5)).not.toContain("nests deeper");
});
