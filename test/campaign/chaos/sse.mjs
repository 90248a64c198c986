/** The fixture over HTTP+SSE, the transport of 2024-11-05; prints its URL. */
import { createServer } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  ResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { relayTools } from "../../fixtures/everything/relay.mjs";

const tools = relayTools({ updated() {}, changed() {} });

function make() {
  const server = new Server(
    { name: "sse", version: "1" },
    { capabilities: { tools: {}, logging: {} } },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const progressToken = extra._meta?.progressToken;
    return tools
      .find(({ name }) => name === params.name)
      .run({
        args: params.arguments ?? {},
        signal: extra.signal,
        progress: (progress, total, message) =>
          extra.sendNotification({
            method: "notifications/progress",
            params: { progressToken, progress, total, message },
          }),
        log: (level, data) =>
          extra.sendNotification({ method: "notifications/message", params: { level, data } }),
        ask: (method, asked) => extra.sendRequest({ method, params: asked }, ResultSchema),
      });
  });
  return server;
}

const sessions = new Map();
async function serve(req, res) {
  const url = new URL(req.url, "http://127.0.0.1");
  if (req.method === "POST") {
    const transport = sessions.get(url.searchParams.get("sessionId"));
    return transport === undefined
      ? res.writeHead(404).end()
      : transport.handlePostMessage(req, res);
  }
  const transport = new SSEServerTransport("/messages", res);
  sessions.set(transport.sessionId, transport);
  res.once("close", () => sessions.delete(transport.sessionId));
  await make().connect(transport);
}

createServer((req, res) => void serve(req, res)).listen(Number(process.env.PORT), "127.0.0.1", () =>
  console.log(JSON.stringify({ url: `http://127.0.0.1:${process.env.PORT}/sse` })),
);
