import { describe, expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import openapi from "../../../plugins/openapi/index.ts";

const films = definePlugin({
  name: "films",
  setup: (gateway) => gateway.tool("search", { description: "Searches.", run: () => "found" }),
});
const KEY = "a".repeat(32);

/** Status and Allow of a request. */
async function ask(url: string, init: RequestInit = {}): Promise<unknown> {
  const response = await fetch(url, init);
  await response.body?.cancel();
  return [response.status, response.headers.get("allow")];
}

describe("paths of two segments where no server is", () => {
  it.each([
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
    "/nope/x",
    "/nope/invoke",
  ])("mcp-13: GET %s is 404", async (path) => {
    const { url } = await setupGateway({ plugins: [films, openapi], client: false });
    expect(await ask(url + path)).toEqual([404, null]);
    expect(await ask(url + path, { method: "DELETE" })).toEqual([404, null]);
  });

  it("are 405 where one is, for whom it is there", async () => {
    const { url } = await setupGateway({
      plugins: [films, openapi],
      config: { auth: { apiKey: KEY } },
      client: false,
    });
    const headers = { authorization: `Bearer ${KEY}` };
    expect(await ask(`${url}/films/search`, { headers })).toEqual([405, "POST"]);
    // Who has no credential learns no names.
    expect(await ask(`${url}/films/search`)).toEqual([404, null]);
    expect(await ask(`${url}/other/search`)).toEqual([404, null]);
  });
});

describe("a slash at the end of an endpoint", () => {
  it.each([
    ["/mcp", "/mcp/"],
    ["/mcp/", "/mcp"],
    ["/a/mcp", "/a/mcp/?x=1"],
  ])("mcp-21: the endpoint at %s answers at %s, too", async (path, other) => {
    const { url } = await setupGateway({
      plugins: [films],
      config: { endpoints: { mcp: { path } } },
      client: false,
    });
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    };
    const response = await fetch(url + other, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    });
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { result: { protocolVersion: "2025-11-25" } },
    ]);
    expect(await ask(`${url}/mcpx/`)).toEqual([404, null]);
    const moved = await fetch(url + other, { redirect: "manual" });
    expect([moved.status, moved.headers.get("location")]).toEqual([
      308,
      expect.not.stringMatching(/^\//),
    ]);
  });
});
