import { type Input, type Place, request } from "./input.ts";
import { exchangeInSession } from "./mcp-session.ts";
import { A2A, A2A_MESSAGE } from "./route-inputs.ts";

/** Methods of A2A 1.0 over JSON-RPC. */
const A2A_METHODS: readonly Input<Place>[] = Object.entries({
  SendMessage: {
    message: A2A_MESSAGE,
    configuration: { acceptedOutputModes: ["text"] },
    metadata: { a: 1 },
  },
  SendStreamingMessage: { message: A2A_MESSAGE },
  GetTask: { id: "t-0", historyLength: 1 },
  ListTasks: { contextId: "c", pageSize: 1, pageToken: "x" },
  CancelTask: { id: "t-0", metadata: { a: 1 } },
  SubscribeToTask: { id: "t-0" },
  CreateTaskPushNotificationConfig: { taskId: "t-0", url: "http://127.0.0.1:9/" },
  ListTaskPushNotificationConfigs: { taskId: "t-0" },
  GetExtendedAgentCard: {},
}).map(([method, params]) => ({
  ...request("POST", "/", { jsonrpc: "2.0", id: 1, method, params }, A2A),
  name: `A2A ${method}`,
}));

const CLIENT = { name: "x", version: "1" };
const ROOT = { uri: "file:///x", name: "x" };

/** Methods of MCP with their parameters; what begins with a slash is a path of its own. */
const METHODS: Readonly<Record<string, unknown>> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { roots: { listChanged: true }, experimental: { a: { b: 1 } } },
    clientInfo: CLIENT,
  },
  ping: {},
  "tools/list": { cursor: "x", _meta: { a: 1 } },
  "tools/call": {
    name: "good__echo",
    arguments: { text: "x", structured: { a: [1] } },
    _meta: { progressToken: 1 },
  },
  "tools/call lifecycle__agent_start": {
    name: "lifecycle__agent_start",
    arguments: { contract: "x" },
  },
  "tools/call lifecycle__agent_status": {
    name: "lifecycle__agent_status",
    arguments: { agent_ids: ["x"] },
  },
  "tools/call lifecycle__append_payload": {
    name: "lifecycle__append_payload",
    arguments: { agent_id: "x", payload: "y" },
  },
  "tools/call sidecar": { name: "sidecar__submit_task", arguments: { text: "x", task_id: "t" } },
  "tools/call unknown": { name: "nothere", arguments: {} },
  "resources/list": { cursor: "x" },
  "resources/templates/list": { cursor: "x" },
  "resources/read": { uri: "file:///one" },
  "resources/subscribe": { uri: "file:///one" },
  "resources/unsubscribe": { uri: "file:///one" },
  "prompts/list": { cursor: "x" },
  "prompts/get": { name: "good__greet", arguments: { who: "x" } },
  "completion/complete": {
    ref: { type: "ref/prompt", name: "good__greet" },
    argument: { name: "who", value: "x" },
    context: { arguments: { a: "b" } },
  },
  "logging/setLevel": { level: "info" },
  "tasks/get": { taskId: "x" },
  "tasks/list": { cursor: "x" },
  "tasks/result": { taskId: "x" },
  "tasks/cancel": { taskId: "x" },
  "server/discover": {},
  "subscriptions/listen": {
    notifications: { toolsListChanged: true, resourceSubscriptions: ["file:///one"] },
  },
  nothere: { a: 1 },
};

const MCP = { accept: "application/json, text/event-stream" };
const MODERN = { ...MCP, "mcp-protocol-version": "2026-07-28" };
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": CLIENT,
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
};

/** Methods of MCP in both eras. */
const MCP_METHODS: readonly Input<Place>[] = Object.entries(METHODS).flatMap(([name, params]) => {
  const method = name.split(" ")[0]!;
  const message = { jsonrpc: "2.0", id: 1, method, params };
  const modern = { ...message, params: { ...(params as object), _meta: META } };
  const named =
    (params as { name?: string; uri?: string }).name ?? (params as { uri?: string }).uri;
  const headers = { ...MODERN, "mcp-method": method, ...(named && { "mcp-name": named }) };
  return [
    method === "initialize"
      ? { ...request("POST", "/mcp", message, MCP), name: "MCP initialize" }
      : inSession("/mcp", `MCP ${name}`, message),
    { ...request("POST", "/mcp", modern, headers), name: `MCP ${name} of 2026-07-28` },
  ];
});

/** What a client sends besides requests. */
const MCP_OTHERS: readonly Input<Place>[] = Object.entries({
  "notifications/cancelled": {
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: 1, reason: "x" },
  },
  "notifications/progress": {
    jsonrpc: "2.0",
    method: "notifications/progress",
    params: { progressToken: 1, progress: 1 },
  },
  "a result": { jsonrpc: "2.0", id: 1, result: { roots: [ROOT] } },
  "an error": { jsonrpc: "2.0", id: 1, error: { code: 1, message: "x", data: { a: 1 } } },
  "a batch": [{ jsonrpc: "2.0", id: 1, method: "ping" }],
}).map(([name, message]) => inSession("/mcp", `MCP ${name}`, message));

const AGENT = inSession("/agents/worker/mcp", "MCP tools/call of an agent", {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: {
    name: "worker",
    arguments: {
      message: "x",
      history: [{ role: "user", content: "x" }],
      images: [{ data: "AAAA", mimeType: "image/png" }],
    },
  },
});

/** What clients send. */
export const CLIENT_INPUTS: readonly Input<Place>[] = [
  ...A2A_METHODS,
  ...MCP_METHODS,
  ...MCP_OTHERS,
  AGENT,
];

/** A message of a client that has a session. */
function inSession(path: string, name: string, message: unknown): Input<Place> {
  return {
    name,
    sample: message,
    route: `POST ${path}`,
    send: ({ gateway }, bytes) => exchangeInSession(gateway.url + path, bytes),
  };
}
