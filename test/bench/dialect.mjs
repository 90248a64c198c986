/**
 * How a client talks to a target. Each turns a call into the bytes of one HTTP request; ids have a fixed width so that the
 * length of a request never changes.
 */
const PADDING = "lorem ipsum dolor sit amet ".repeat(8).slice(0, 170);
const CLIENT_META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

function post(path, host, headers, body) {
  const extra = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  return (
    `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n` +
    `accept: application/json, text/event-stream\r\n${extra}content-length: ${body.length}\r\n\r\n${body}`
  );
}

/** The legacy era: `initialize` once per connection, then its session id on every request. */
async function openLegacy(connection, path, host, credentials) {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1.0.0" },
  };
  const response = await connection.request(
    post(
      path,
      host,
      credentials,
      JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }),
    ),
  );
  if (response.status !== 200)
    throw new Error(`initialize answered ${response.status}: ${response.text().slice(0, 200)}`);
  const session = response.header("mcp-session-id");
  const headers = {
    ...credentials,
    "mcp-protocol-version": "2025-11-25",
    ...(session && { "mcp-session-id": session }),
  };
  const initialized = await connection.request(
    post(
      path,
      host,
      headers,
      JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }),
    ),
  );
  if (initialized.status >= 300)
    throw new Error(`notifications/initialized answered ${initialized.status}`);
  return headers;
}

const OPEN = {
  raw: async () => ({ "mcp-protocol-version": "2025-11-25" }),
  legacy: openLegacy,
  modern: async () => ({ "mcp-protocol-version": "2026-07-28" }),
  hub: async () => ({}),
  http: async () => ({}),
  a2a: async () => ({ "a2a-version": "1.0" }),
  contract: async () => ({}),
};

/** `tools/call`, `tools/list` ... as a JSON-RPC message; `%ID` and `%TEXT` are filled in per request. */
function message(dialect, { method, params }) {
  const meta = dialect === "modern" ? { _meta: { ...params?._meta, ...CLIENT_META } } : {};
  return JSON.stringify({
    jsonrpc: "2.0",
    id: "%ID",
    method,
    params: { ...params, ...meta },
  }).replace('"%ID"', "%ID");
}

/** mcp-hub has no Streamable HTTP face for clients: its REST route is what can be measured. */
function hubMessage({ params }) {
  return JSON.stringify({
    server_name: "upstream",
    tool: params.name,
    arguments: params.arguments,
  });
}

/** A message of A2A 1.0; ids of messages are never used twice. */
function standardMessage({ params }) {
  const parts = [{ text: params.arguments.text }];
  const sent = { messageId: "bench-%ID", role: "ROLE_USER", parts };
  const body = { jsonrpc: "2.0", id: "%ID", method: "SendMessage", params: { message: sent } };
  return JSON.stringify(body).replace('"%ID"', "%ID");
}

/** The same message in runtime contract v1. */
function contractMessage({ params }) {
  const parts = [{ text: params.arguments.text }];
  return JSON.stringify({ message: { messageId: "bench-%ID", role: "user", parts } });
}

/** Tools over plain HTTP: the path names the tool, the body is its arguments. */
function bodyOf(dialect, call) {
  if (dialect === "hub") return hubMessage(call);
  if (dialect === "a2a") return standardMessage(call);
  if (dialect === "contract") return contractMessage(call);
  return dialect === "http" ? JSON.stringify(call.params.arguments) : message(dialect, call);
}

/** Opens a conversation on a connection and returns `(id) => request bytes`. */
export async function converse(connection, { dialect, path, port, call, authorization }) {
  const host = `127.0.0.1:${port}`;
  const credentials = authorization ? { authorization } : {};
  const headers = { ...(await OPEN[dialect](connection, path, host, credentials)), ...credentials };
  if (dialect === "modern") {
    headers["mcp-method"] = call.method;
    if (call.params?.name) headers["mcp-name"] = call.params.name;
  }
  const body = bodyOf(dialect, call);
  const [before, ...parts] = post(
    path,
    host,
    headers,
    body.replaceAll("%ID", "000000000").replaceAll("%TEXT", "000000000"),
  ).split("000000000");
  return (id) => before + parts.map((part) => id + part).join("");
}

/**
 * Calls by name, with the check every response must pass. `id` is the nine-digit number of the request. A function makes one from
 * the options of `prepare`.
 */
export const CALLS = {
  echo: {
    method: "tools/call",
    params: { name: "echo", arguments: { text: `%TEXT ${PADDING}` } },
    check: (response, id) =>
      response.status === 200 && response.text().includes(`${id} ${PADDING}`),
  },
  /** The same with 10 KB of arguments, which come back. */
  echo10k: {
    method: "tools/call",
    params: { name: "echo", arguments: { text: `%TEXT ${PADDING.repeat(60)}` } },
    check: (response, id) =>
      response.status === 200 && response.length > 10_000 && response.edges().includes(id),
  },
  /** The echo tool by the name that a gateway gives it, where one is given `through` a tool of the gateway's own. */
  peerEcho: ({ tool = CALLS.echo.params.name, through }) => ({
    ...CALLS.echo,
    params: through
      ? { name: through, arguments: { name: tool, args: CALLS.echo.params.arguments } }
      : { ...CALLS.echo.params, name: tool },
  }),
  /** Each connection calls the tool of a server of its own. */
  spread: (_options, lane) => ({
    ...CALLS.echo,
    params: { ...CALLS.echo.params, name: `s${lane}__echo` },
  }),
  large: {
    method: "tools/call",
    params: { name: "large", arguments: { text: "%TEXT" } },
    check: (response, id) =>
      response.status === 200 && response.length > 1024 * 1024 && response.edges().includes(id),
  },
  agentStart: {
    method: "tools/call",
    params: { name: "agent_start", arguments: { contract: `%TEXT ${PADDING}` } },
    check: (response) => response.status === 200 && response.text().includes('"running"'),
  },
  agentStatus: ({ ids }) => ({
    method: "tools/call",
    params: { name: "agent_status", arguments: { agent_ids: ids } },
    check(response) {
      const text = response.text();
      return (
        response.status === 200 &&
        text.includes(ids[0]) &&
        text.includes(ids.at(-1)) &&
        !text.includes("Agent not found")
      );
    },
  }),
  list: {
    method: "tools/list",
    params: {},
    check: (response, id, { bytes }) =>
      response.status === 200 && response.length > bytes && response.edges().includes(id),
  },
};
