/** `node server-1.mjs stdio`, or `http`: without sessions; prints its URL. */
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const QUESTION = {
  message: "What is your name?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};

function make() {
  const server = new McpServer({ name: "demo", version: "1.0.0" });
  server.registerTool("add", { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) =>
    text(a + b),
  );
  server.registerTool("fail", {}, () => ({ ...text("There is no city Atlantis."), isError: true }));
  server.registerTool("slow", {}, async (extra) => {
    const progressToken = extra._meta?.progressToken;
    for (const progress of [1, 2, 3])
      if (progressToken !== undefined)
        await extra.sendNotification({
          method: "notifications/progress",
          params: { progressToken, progress, total: 3 },
        });
    return text("done");
  });
  server.registerTool("ask", {}, async (extra) => {
    const { action, content } = await server.server.elicitInput(QUESTION, {
      relatedRequestId: extra.requestId,
    });
    return text(action === "accept" ? `hello ${String(content.name)}` : `refused: ${action}`);
  });
  return server;
}

if (process.argv[2] === "stdio") {
  await make().connect(new StdioServerTransport());
} else {
  // With sessions: without them this SDK has no way back for a question's answer.
  const sessions = new Map();
  async function serve(req, res) {
    const id = req.headers["mcp-session-id"];
    let transport = sessions.get(id);
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: (own) => sessions.set(own, transport),
      });
      await make().connect(transport);
    }
    await transport.handleRequest(req, res);
  }
  const http = createServer((req, res) => void serve(req, res));
  http.listen(0, "127.0.0.1", () =>
    console.log(JSON.stringify({ url: `http://127.0.0.1:${http.address().port}/mcp` })),
  );
}
