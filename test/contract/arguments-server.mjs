/** A stdio server whose one tool says with which arguments it was started. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

const server = new McpServer({ name: "arguments", version: "1.0.0" });
server.registerTool("arguments", { description: "Its own command line." }, () => ({
  content: [{ type: "text", text: JSON.stringify(process.argv.slice(2)) }],
}));
await server.connect(new StdioServerTransport());
