// @ts-check
/**
 * A legacy MCP server over stdio, written by hand so that it can misbehave. Arguments: `--exit-on-discover`,
 * `--never-initialize`, `--id-first` and `--no-ping`, which tells of every list that it is asked for.
 */
const flags = new Set(process.argv.slice(2));

/** @param {object} message */
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
/** @type {Map<unknown, (message: any) => void>} */
const waiting = new Map();
/** @type {Map<unknown, () => void>} */
const running = new Map();
let asked = 0;
let count = 0;

/** @param {unknown} id @param {string} text */
function reply(id, text) {
  const result = { content: [{ type: "text", text }] };
  send(flags.has("--id-first") ? { jsonrpc: "2.0", id, result } : { result, jsonrpc: "2.0", id });
}

/** @type {Record<string, (id: unknown, args: any, meta: any) => void>} */
const tools = {
  echo: (id, { text }) => reply(id, text),
  pid: (id) => reply(id, String(process.pid)),
  count: (id) => reply(id, String(++count)),
  crash: () => process.exit(3),
  confess(_id, { text }) {
    process.stderr.write(`${text}\n`, () => process.exit(3));
  },
  big: (id, { size }) => reply(id, "x".repeat(size)),
  token: (id, _args, meta) => reply(id, typeof meta?.progressToken),
  twice: (id) => {
    reply(id, "first");
    reply(id, "second");
  },
  impostor: (id, { id: other }) => {
    send({ jsonrpc: "2.0", id: other, result: { content: [{ type: "text", text: "stolen" }] } });
    reply(id, "done");
  },
  progress(id, _args, meta) {
    for (let progress = 1; progress <= 3; progress++) {
      send({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: meta.progressToken, progress },
      });
    }
    reply(id, "done");
  },
  wait(id) {
    send({ jsonrpc: "2.0", method: "notifications/test/waiting" });
    running.set(id, () => send({ jsonrpc: "2.0", method: "notifications/test/cancelled" }));
  },
  release(id) {
    for (const each of running.keys()) reply(each, "released");
    running.clear();
    reply(id, "done");
  },
  ask(id, { method, prompt }) {
    const question = `q${++asked}`;
    waiting.set(question, ({ result, error }) =>
      reply(id, error ? `error ${error.code}` : JSON.stringify(result)),
    );
    send({ jsonrpc: "2.0", id: question, method, params: { prompt } });
  },
  log(id, { level }) {
    send({ jsonrpc: "2.0", method: "notifications/message", params: { level, data: "text" } });
    reply(id, "done");
  },
};

/** @param {any} message */
function receive({ id, method, params, result, error }) {
  if (method === undefined) return waiting.get(id)?.({ result, error });
  if (method === "server/discover" && flags.has("--exit-on-discover")) process.exit(1);
  if (method === "initialize" && flags.has("--never-initialize")) return;
  if (method === "ping") {
    if (flags.has("--no-ping")) return;
    return send({ jsonrpc: "2.0", id, result: {} });
  }
  if (method === "initialize") {
    const { protocolVersion } = params;
    return send({
      jsonrpc: "2.0",
      id,
      result: {
        protocolVersion,
        capabilities: { tools: {}, logging: {} },
        serverInfo: { name: "child", version: "1" },
      },
    });
  }
  if (method === "tools/list") {
    if (flags.has("--no-ping")) send({ jsonrpc: "2.0", method: "notifications/test/listed" });
    return send({
      jsonrpc: "2.0",
      id,
      result: {
        tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })),
      },
    });
  }
  if (method === "tools/call")
    return tools[params.name]?.(id, params.arguments ?? {}, params._meta);
  if (method === "notifications/cancelled") return running.get(params.requestId)?.();
  if (id !== undefined)
    send({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
}

let text = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  text += chunk;
  const lines = text.split("\n");
  text = lines.pop() ?? "";
  for (const line of lines) receive(JSON.parse(line));
});
