/**
 * The gateway one writes first: the official SDK 1.x on both sides. One server and transport per session, one client per
 * upstream, `tools/list` asked of every upstream each time.
 */
import { randomUUID } from "node:crypto";
import http from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import "./memory.mjs";

// The SDK adds a listener to one signal with every request: thousands of warnings, which would bury the figures.
process.removeAllListeners("warning");
const { upstreams = [], command } = JSON.parse(process.argv[2]);
const transports = upstreams.map((url) => new StreamableHTTPClientTransport(new URL(url)));
if (command)
  transports.push(new StdioClientTransport({ command: command[0], args: command.slice(1) }));

const clients = await Promise.all(
  transports.map(async (transport) => {
    const client = new Client({ name: "naive", version: "1.0.0" });
    await client.connect(transport);
    return client;
  }),
);
const sessions = new Map();

function createServer() {
  const server = new Server({ name: "naive", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => {
    const lists = await Promise.all(clients.map((client) => client.listTools()));
    return { tools: lists.flatMap(({ tools }) => tools) };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const token = extra._meta?.progressToken;
    const onprogress =
      token === undefined
        ? undefined
        : (progress) => report(extra, { ...progress, progressToken: token });
    return clients[0].callTool(
      { name: params.name, arguments: params.arguments },
      undefined,
      onprogress && { onprogress },
    );
  });
  return server;
}

function report(extra, params) {
  void extra.sendNotification({ method: "notifications/progress", params });
}

async function openSession() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await createServer().connect(transport);
  return transport;
}

const server = http.createServer((req, res) => void serve(req, res));

async function serve(req, res) {
  const transport = sessions.get(req.headers["mcp-session-id"]) ?? (await openSession());
  await transport.handleRequest(req, res);
}

server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
