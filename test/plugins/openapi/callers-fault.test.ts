import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { definePlugin, GatewayError, Answer } from "propylon";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { post, refusal, startOpenapi } from "./support.ts";

/** A server of the official SDK that checks its arguments itself, by a pattern. */
async function startStrict(): Promise<string> {
  const server = createServer((req, res) => {
    const mcp = new McpServer({ name: "strict", version: "1" });
    mcp.registerTool(
      "find",
      { inputSchema: { slug: z.string().regex(/^[a-z]+$/) } },
      ({ slug }) => ({
        content: [{ type: "text", text: slug }],
      }),
    );
    const transport = new StreamableHTTPServerTransport({});
    res.on("close", () => void transport.close());
    // The SDK's own types differ under exactOptionalPropertyTypes.
    void mcp.connect(transport as never).then(() => transport.handleRequest(req, res));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

const picky = definePlugin({
  name: "picky",
  setup(gateway) {
    gateway.tool("even", {
      description: "Wants an even number.",
      input: z.object({ n: z.number() }),
      run: ({ n }) => {
        if (n % 2 === 0) return String(n);
        throw new GatewayError("invalid", "n must be even.");
      },
    });
    gateway.tool("broken", { description: "Fails.", run: () => ({ isError: true, content: [] }) });
  },
});

describe("a caller's bad argument is 422", () => {
  it("when the server finds it, for all that the check here leaves to it", async () => {
    const servers = { strict: { url: await startStrict() } };
    const { url } = await startOpenapi({}, [], { servers });
    expect((await post(`${url}/strict/find`, { slug: "abc" })).body.result).toBe("abc");
    expect(await post(`${url}/strict/find`, { slug: "A1" })).toMatchObject({
      status: 422,
      body: refusal("invalid"),
    });
  });

  it("when a plugin's tool finds it, with the check here or without", async () => {
    for (const validate of [true, false]) {
      const { url } = await startOpenapi({ validate }, [picky]);
      for (const args of [{ n: 1 }, { n: "x" }])
        for (const headers of [{}, { "x-result-format": "raw" }])
          expect(await post(`${url}/picky/even`, args, headers)).toMatchObject({
            status: 422,
            body: refusal("invalid"),
          });
      expect((await post(`${url}/picky/broken`)).status).toBe(502);
    }
  });

  it("and the same failure of the tool over MCP", () => {
    const answer = Answer.failed("n must be even.", "invalid");
    expect(answer.isInvalid).toBe(true);
    expect(answer.result).toEqual({
      content: [{ type: "text", text: "n must be even." }],
      isError: true,
    });
    expect(Answer.failed("no").isInvalid).toBe(false);
  });
});

it("a body with a content encoding is 415 on every route", async () => {
  const { url } = await startOpenapi({}, [picky]);
  for (const path of ["/picky/even", "/picky/invoke", "/mcp", "/anything"]) {
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "content-encoding": "gzip",
        accept: "application/json, text/event-stream",
      },
      body: new Uint8Array(gzipSync('{"n": 2}')),
    });
    expect({ path, status: response.status }).toEqual({ path, status: 415 });
  }
  const plain = await post(`${url}/picky/even`, { n: 2 }, { "content-encoding": "identity" });
  expect(plain.body).toMatchObject({ ok: true, result: 2 });
});
