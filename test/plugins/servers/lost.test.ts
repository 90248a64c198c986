import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import { rpc, serveHttp } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();
const SECRET = "s3cret-of-the-config";
const LEAK = `Error: ${SECRET}\n    at handle (/srv/app/server.js:10:5)`;

/** What a server may do to a call in flight. */
const ENDS: Record<string, (res: ServerResponse) => void> = {
  "resets the connection": (res) => res.socket!.resetAndDestroy(),
  "closes the connection": (res) => res.socket!.destroy(),
  "breaks off its JSON": (res) => {
    res.writeHead(200, { "content-type": "application/json", "content-length": 500 });
    res.write(`{"jsonrpc":"2.0","leak":"${SECRET}`, () => res.socket!.destroy());
  },
  "breaks off its event stream": (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(`data: {"leak":"${SECRET}"}\n\ndata: {"x`, () => res.socket!.destroy());
  },
  "speaks no HTTP": (res) => void res.socket!.end(`SSH-2.0-${SECRET}\r\n`),
  "sends no JSON": (res) =>
    void res.writeHead(200, { "content-type": "application/json" }).end(LEAK),
  "answers 401": (res) =>
    void res.writeHead(401, { "www-authenticate": `Basic realm="${SECRET}"` }).end(LEAK),
  "answers 404": (res) => void res.writeHead(404, { "x-key": SECRET }).end(LEAK),
  "answers 500": (res) => void res.writeHead(500, { "content-type": "text/plain" }).end(LEAK),
  redirects: (res) => void res.writeHead(302, { location: `http://u:${SECRET}@127.0.0.1/` }).end(),
  compresses: (res) => void res.writeHead(200, { "content-encoding": "gzip" }).end(SECRET),
};

it.each(Object.entries(ENDS))(
  "T9: a client whose call is lost because its server %s learns no header, address, stack or path",
  async (_what, end) => {
    const server = use(
      await serveHttp((_req, res, body) => {
        if (body?.method === "tools/call") return end(res);
        if (body?.id === undefined)
          return void res.writeHead(_req.method === "GET" ? 405 : 202).end();
        if (body.method === "initialize")
          return rpc(res, body.id, {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {} },
            serverInfo: { name: "lost", version: "1" },
          });
        if (body.method === "tools/list")
          return rpc(res, body.id, { tools: [{ name: "work", inputSchema: { type: "object" } }] });
        return rpc(res, body.id, undefined, { code: -32601, message: "Method not found" });
      }),
    );
    const url = server.url.replace("://", `://user:${SECRET}@`);
    const { client } = await setupGateway({
      config: {
        servers: { lost: { url, headers: { "x-api-key": SECRET } } },
        endpoints: { mcp: { naming: "none" } },
      },
    });
    await client.listTools();
    const told = await client
      .callTool({ name: "work" })
      .then(JSON.stringify, (error: Error) =>
        JSON.stringify([error.message, Object.entries(error)]),
      );
    expect(told).toContain('Server \\"lost\\"');
    expect(told).not.toContain(SECRET);
    expect(told).not.toContain(String(server.port));
    expect(told).not.toMatch(
      /user:|127\.0\.0\.1|https?:|\bat \w+ \(|[\w-]+\.[cm]?[jt]s\b|node_modules|\/srv/,
    );
  },
);
