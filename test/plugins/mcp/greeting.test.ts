import { expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";

async function greet(url: string, protocolVersion: unknown, id: unknown = 1) {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, method: "initialize", params }),
  });
  return {
    session: response.headers.get("mcp-session-id"),
    body: (await response.json()) as {
      id: unknown;
      result?: { protocolVersion: string; serverInfo: { name: string }; instructions?: string };
      error?: { message: string };
    },
  };
}

it("initialize is answered for its revision, with the name that the gateway has by now", async () => {
  const config = (name: string, instructions: string) => ({
    name,
    listeners: { main: { port: 0 } },
    endpoints: { mcp: { path: "/mcp", servers: [], instructions } },
  });
  const { gateway, url } = await setupGateway({ config: config("one", "first"), client: false });
  for (const [asked, told] of [
    ["2025-06-18", "2025-06-18"],
    ["2025-11-25", "2025-11-25"],
    ["2025-06-18", "2025-06-18"],
    ["1999-01-01", "2025-11-25"],
  ])
    expect((await greet(url, asked, asked)).body).toMatchObject({
      id: asked,
      result: { protocolVersion: told, serverInfo: { name: "one" }, instructions: "first" },
    });
  const named = async () => (await greet(url, "2025-06-18")).body.result;
  await gateway.apply(config("two", "first"));
  expect(await named()).toMatchObject({ serverInfo: { name: "two" }, instructions: "first" });
  await gateway.apply(config("two", "second"));
  expect(await named()).toMatchObject({ serverInfo: { name: "two" }, instructions: "second" });
});

it("what is no greeting opens nothing, and each that is opens a session of its own", async () => {
  const { url } = await setupGateway({ client: false });
  const [one, other, none] = [
    await greet(url, "2025-06-18"),
    await greet(url, "2025-06-18"),
    await greet(url, 7),
  ];
  expect(one.session).not.toBe(other.session);
  expect([none.session, none.body.error?.message]).toEqual([
    null,
    "initialize needs protocolVersion and capabilities.",
  ]);
});
