/**
 * An MCP server over stdio that writes what stands in the file of a method in place of its answer, if there is anything.
 *
 *   node parrot.mjs FOLDER
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const RESULTS = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {}, resources: {}, prompts: {} },
    serverInfo: { name: "parrot", version: "1" },
  },
  "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
  "tools/call": { content: [] },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  const words = wordsOf(method).replace('"%ID%"', () => JSON.stringify(id));
  const error = { code: -32601, message: "Method not found" };
  const outcome = RESULTS[method] ? { result: RESULTS[method] } : { error };
  process.stdout.write(`${words || JSON.stringify({ jsonrpc: "2.0", id, ...outcome })}\n`);
});

function wordsOf(method) {
  try {
    return readFileSync(join(process.argv[2], method.replaceAll("/", "-")), "utf8");
  } catch {
    return "";
  }
}
