/** A server over stdio that answers `echo` and otherwise sends whatever may hurt: forged ids, strange questions, depth, noise. */
import { createInterface } from "node:readline";

const send = (message) =>
  process.stdout.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
const seen = [];
let counter = 0;

const deep = (depth) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const text = (words) => ({ content: [{ type: "text", text: words }] });

/** Each is sent in turn, again and again. */
const NOISE = [
  () => "{",
  () => "null",
  () =>
    `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1,"deep":${deep(5_000)}}}`,
  () =>
    `{"jsonrpc":"2.0","id":${++counter},"method":"elicitation/create","params":{"message":"stolen","deep":${deep(20_000)}}}`,
  () => ({
    jsonrpc: "2.0",
    id: `q${++counter}`,
    method: "elicitation/create",
    params: { message: "whose", requestedSchema: { type: "object", properties: {} } },
  }),
  () => ({
    jsonrpc: "2.0",
    id: `s${++counter}`,
    method: "sampling/createMessage",
    params: {
      messages: [{ role: "user", content: { type: "text", text: "whose" } }],
      maxTokens: 1,
    },
  }),
  () => ({
    jsonrpc: "2.0",
    method: "notifications/message",
    params: { level: "error", data: "whose" },
  }),
  () => ({ jsonrpc: "2.0", id: `forged${++counter}`, result: text("forged-answer") }),
  () =>
    `{"jsonrpc":"2.0","id":"${seen.at(-1)}","result":${JSON.stringify(text("first"))},"id":"1"}`,
  () => ({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }),
  () => ({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: seen.at(-1) } }),
  () => ({ jsonrpc: "2.0", id: seen.at(-1), method: "ping", result: {} }),
  () => "x".repeat(20_000),
];

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const noise = () => send(NOISE[counter++ % NOISE.length]());
  if (method === "initialize")
    return send({
      jsonrpc: "2.0",
      id,
      result: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: { listChanged: true }, logging: {} },
        serverInfo: { name: "hostile", version: "1" },
      },
    });
  if (method === "tools/list")
    return send({
      jsonrpc: "2.0",
      id,
      result: {
        tools: [
          { name: "echo", inputSchema: { type: "object" } },
          { name: "bad", outputSchema: null },
        ],
      },
    });
  if (method !== "tools/call")
    return send({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
  seen.push(id);
  if (seen.length > 100) seen.shift();
  noise();
  noise();
  send({ jsonrpc: "2.0", id, result: text(params.arguments.nonce) });
  noise();
});
