import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import openapi from "../../../plugins/openapi/index.ts";

/** Headers with which other gateways are asked to hand on a credential, and those that hold one anyway. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  authorization: "Bearer secret-of-the-caller",
  cookie: "session=secret-of-the-caller",
  "proxy-authorization": "Basic secret-of-the-caller",
  "x-api-key": "secret-of-the-caller",
  "x-mcp-tickets-authorization": "Bearer secret-of-the-caller",
  "mcp-tickets-x-auth": "secret-of-the-caller",
};

/** A server that remembers the headers of each request. */
async function setupServer() {
  const seen: { readonly method: string; readonly headers: string }[] = [];
  const server = createServer((req, res) => {
    let body = "";
    req.on("data", (chunk) => (body += chunk));
    req.on("end", () => {
      const { id, method } = JSON.parse(body) as { id?: string; method: string };
      seen.push({ method, headers: req.rawHeaders.join("\n") });
      const results: Record<string, object> = {
        "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
        "tools/list": { tools: [{ name: "find", inputSchema: { type: "object" } }] },
        "tools/call": { content: [{ type: "text", text: "found" }] },
      };
      res.writeHead(200, { "content-type": "application/json" });
      res.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, seen };
}

it("bugs-mcp 24: no credential of a caller reaches a server, over MCP or HTTP, but what the operator wrote does", async () => {
  const { url: upstream, seen } = await setupServer();
  const { client, url } = await setupGateway({
    plugins: [openapi],
    config: {
      auth: { apiKey: "secret-of-the-caller" },
      servers: { tickets: { url: upstream, headers: { Authorization: "Bearer of-the-gateway" } } },
    },
    client: { headers: CREDENTIALS },
  });
  const answer = await client.callTool({ name: "find", arguments: {} });
  expect(answer).toMatchObject({ content: [{ text: "found" }] });
  const response = await fetch(`${url}/tickets/find`, {
    method: "POST",
    headers: { ...CREDENTIALS, "content-type": "application/json" },
    body: "{}",
  });
  expect(response.status).toBe(200);
  const calls = seen.filter(({ method }) => method === "tools/call");
  expect(calls).toHaveLength(2);
  expect(JSON.stringify(seen)).not.toContain("secret-of-the-caller");
  for (const { headers } of calls) expect(headers).toContain("Bearer of-the-gateway");
});
