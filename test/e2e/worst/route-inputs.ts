import { type Input, type Place, request } from "./input.ts";

const NOBODY = "00000000-0000-0000-0000-000000000000";
const PART = { text: "Count these words." };
const CONTRACT_MESSAGE = {
  message: {
    messageId: "m-1",
    role: "user",
    parts: [PART],
    taskId: "t-1",
    referenceTaskIds: ["t-0"],
    metadata: { source: "test" },
  },
};
export const A2A_MESSAGE = {
  messageId: "m-1",
  role: "ROLE_USER",
  parts: [{ text: "Count." }, { data: { rows: [1] } }],
  extensions: ["urn:one"],
  referenceTaskIds: ["t-0"],
  metadata: { source: "test" },
};
export const A2A = { "a2a-version": "1.0" };

/** Routes with a body. */
export const ROUTE_INPUTS: readonly Input<Place>[] = [
  request("POST", "/good/echo", { text: "x", structured: { rows: [{ a: 1 }] } }),
  request("POST", "/good/invoke", { tool: "echo", arguments: { text: "x" } }),
  request("POST", "/foe/echo", { rows: [1], map: { a: 1 } }),
  request("POST", "/_meta/calls", { server: "good", tool: "echo", arguments: { text: "x" } }),
  request("POST", "/_meta/questions/x", { action: "accept", content: { a: 1 }, text: "x" }),
  request("POST", "/_meta/config/check", {
    edits: [{ path: ["plugins", "gating"], value: { off: ["x"], map: { a: 1 } } }],
  }),
  request("PUT", "/_meta/config", {
    edits: [{ path: ["plugins", "gating", "nothing"], value: { off: ["x"] } }],
  }),
  request("POST", "/_meta/servers", {
    name: "added",
    command: "true",
    args: ["x"],
    tools: { include: ["a"], exclude: ["b"] },
  }),
  request("POST", "/_meta/servers#http", {
    name: "added",
    url: "http://127.0.0.1:9/mcp",
    headers: { "x-a": "b" },
  }),
  request("POST", "/_meta/bulk", {
    changes: [{ server: "good", tool: "nothere", enabled: false }],
  }),
  request("POST", "/_meta/servers/nothere/disable", { reason: "x" }),
  request("POST", "/_meta/servers/nothere/breaker/reset", {}),
  request("POST", "/_meta/servers/nothere/enable", {}),
  request("POST", "/_meta/servers/good/tools/nothere/disable", { reason: "x" }),
  request("POST", "/_meta/servers/good/tools/nothere/enable", {}),
  request("POST", "/_meta/reinit", {}),
  request("POST", "/_meta/reload", {}),
  request("POST", "/_meta/reinit/nothere", {}),
  request("POST", "/_meta/history/nothere/replay", { arguments: { a: 1 } }),
  request("POST", "/api/agents", { contract: "Work.", agent: "worker", start: false }),
  request("POST", "/api/agents/nothere/complete", { summary: "Done.", payload: "x" }),
  request("POST", "/api/agents/nothere/start", {}),
  request("POST", "/api/agents/nothere/stop", {}),
  request("POST", "/sidecar/tasks", CONTRACT_MESSAGE),
  request("POST", "/", CONTRACT_MESSAGE),
  ...["pallas", "instances"].flatMap((face) => [
    request("POST", `/api/v1/${face}`, { name: "x", host_key: "key" }),
    request("PUT", `/api/v1/${face}/${NOBODY}/host-key`, { host_key: "x" }),
    ...["refresh", "provision", "rotate", "reveal"].map((verb) =>
      request("POST", `/api/v1/${face}/${NOBODY}/${verb}`, {}),
    ),
  ]),
  request("PUT", `/api/v1/workspaces/ws_home/teams/${NOBODY}`, {}),
  request("POST", "/api/v1/workspaces", { id: "ws_x", name: "Work" }),
  request("PUT", "/api/v1/workspaces/ws_home/teams", { teams: ["x"] }),
  request("POST", "/api/v1/workspaces/ws_home/chat", { agent: "x:y", message: "Hello." }),
  request(
    "POST",
    "/message:send",
    { message: A2A_MESSAGE, configuration: { acceptedOutputModes: ["text"] }, metadata: { a: 1 } },
    A2A,
  ),
  request("POST", "/message:stream", { message: A2A_MESSAGE }, A2A),
  request("POST", "/tasks/t-0:cancel", { metadata: { a: 1 } }, A2A),
  request(
    "POST",
    "/tasks/t-0/pushNotificationConfigs",
    { url: "http://127.0.0.1:9/", authentication: { scheme: "Bearer" } },
    A2A,
  ),
  request("POST", "/oauth-client/connect/nothere", {}),
  request("POST", "/_meta/oauth-client/servers/locked/login", {}),
];

/** What ends something, and so comes last. */
export const LAST_INPUTS: readonly Input<Place>[] = [request("POST", "/sidecar/drain", {})];
