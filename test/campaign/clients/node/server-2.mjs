/** `node server-2.mjs stdio`, or `http`: without sessions, in both eras; prints its URL. It asks as servers of the old era do. */
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const QUESTION = {
  message: "What is your name?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};

function make() {
  const server = new McpServer({ name: "demo", version: "1.0.0" });
  server.registerTool(
    "add",
    { inputSchema: z.object({ a: z.number(), b: z.number() }) },
    ({ a, b }) => text(a + b),
  );
  server.registerTool("fail", {}, () => ({ ...text("There is no city Atlantis."), isError: true }));
  server.registerTool("slow", {}, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [1, 2, 3])
      if (progressToken !== undefined)
        await mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, total: 3 },
        });
    return text("done");
  });
  server.registerTool("ask", {}, async ({ mcpReq }) => {
    const { action, content } = await mcpReq.elicitInput(QUESTION);
    return text(action === "accept" ? `hello ${String(content.name)}` : `refused: ${action}`);
  });
  return server;
}

if (process.argv[2] === "stdio") {
  serveStdio(make);
} else {
  const handle = toNodeHandler(createMcpHandler(make));
  const http = createServer((req, res) => void handle(req, res));
  http.listen(0, "127.0.0.1", () =>
    console.log(JSON.stringify({ url: `http://127.0.0.1:${http.address().port}/mcp` })),
  );
}
