/** The same echo server as a stdio child: one JSON message per line, answers of one tick in one write. */
import { stdin, stdout } from "node:process";

let rest = Buffer.alloc(0);
let pending = "";

stdin.on("data", (chunk) => {
  let buffer = rest.length ? Buffer.concat([rest, chunk]) : chunk;
  for (let end = buffer.indexOf(10); end >= 0; end = buffer.indexOf(10)) {
    answer(JSON.parse(buffer.toString("utf8", 0, end)));
    buffer = buffer.subarray(end + 1);
  }
  rest = buffer;
});
stdin.on("end", () => process.exit(0));

function answer({ id, method, params }) {
  if (id === undefined) return;
  if (pending === "") setImmediate(flush);
  pending += `${JSON.stringify({ jsonrpc: "2.0", id, ...outcome(method, params) })}\n`;
}

function outcome(method, params) {
  if (method === "initialize") {
    const serverInfo = { name: "bench-stdio", version: "1.0.0" };
    return {
      result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo },
    };
  }
  if (method === "tools/list")
    return {
      result: {
        tools: [{ name: "echo", description: "The echo tool.", inputSchema: { type: "object" } }],
      },
    };
  if (method === "tools/call")
    return { result: { content: [{ type: "text", text: params.arguments.text }] } };
  if (method === "ping") return { result: {} };
  return { error: { code: -32601, message: "Method not found" } };
}

function flush() {
  stdout.write(pending);
  pending = "";
}
