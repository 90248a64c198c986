/**
 * The upstream of every target and the raw floor: an MCP server (2025-11-25, stateless) on bare node:http, as cheap as Node
 * can be, so that the gateway in front of it is what is measured.
 * Tools: echo, large (1 MiB), progress (`count` notifications, `interval` ms apart); `?tools=N` lists N tools more.
 */
import http from "node:http";

const LARGE = "x".repeat(1024 * 1024);
let requests = 0;

const handlers = {
  // Whatever version a client asks for: the methods used here are the same in all.
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "bench-upstream", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": (_params, url) => ({ tools: toolList(url) }),
  "tools/call": ({ name, arguments: args }) => ({
    content: [{ type: "text", text: name === "large" ? LARGE : args.text }],
  }),
};

const text = { type: "object", properties: { text: { type: "string" } } };
const FIXED = ["echo", "large", "progress"].map((name) => ({
  name,
  description: `The ${name} tool.`,
  inputSchema: text,
}));

function toolList(url) {
  const query = new URLSearchParams(url.split("?")[1]);
  const count = Number(query.get("tools") ?? 0);
  if (!query.has("tools")) return FIXED;
  return Array.from({ length: count }, (_, index) =>
    filler(`${query.get("server")}_tool_${index}`),
  );
}

/** About 590 bytes each, the mean of real servers (performance-data section 4). */
function filler(name) {
  const property = (title) => ({
    type: "string",
    description: `The ${title} of what ${name} works on, as shown to people.`.padEnd(90, "."),
  });
  return {
    name,
    description: `Does the work of ${name}. `.padEnd(120, "-"),
    inputSchema: {
      type: "object",
      properties: { subject: property("subject"), target: property("target") },
      required: ["subject"],
    },
  };
}

const server = http.createServer((req, res) => {
  if (req.method !== "POST") return res.writeHead(req.method === "DELETE" ? 200 : 405).end();
  const chunks = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () =>
    answer(req, res, JSON.parse(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))),
  );
});

function answer(req, res, { id, method, params }) {
  requests++;
  if (id === undefined) return res.writeHead(202).end();
  if (params?.name === "progress") return stream(res, id, params);
  const handler = handlers[method];
  const body = handler
    ? { jsonrpc: "2.0", id, result: handler(params, req.url) }
    : { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
  const bytes = Buffer.from(JSON.stringify(body));
  res
    .writeHead(200, { "content-type": "application/json", "content-length": bytes.length })
    .end(bytes);
}

async function stream(res, id, { arguments: { count, interval }, _meta: { progressToken } }) {
  res.writeHead(200, { "content-type": "text/event-stream" });
  const frame = (message) =>
    `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
  for (let progress = 1; progress <= count; progress++) {
    const more = res.write(
      frame({
        method: "notifications/progress",
        params: { progressToken, progress, message: "working" },
      }),
    );
    if (interval > 0) await new Promise((resolve) => setTimeout(resolve, interval));
    else if (!more) await new Promise((resolve) => res.once("drain", resolve));
  }
  res.end(frame({ id, result: { content: [{ type: "text", text: "done" }] } }));
}

process.on("message", () => process.send({ requests }));
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
