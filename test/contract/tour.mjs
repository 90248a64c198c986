/**
 * Prints through how many files one relayed call goes, and the reload of one plugin's option: those of core and plugins in which a
 * function ran, by V8's precise coverage of the compiled modules. `node test/contract/tour.mjs` prints them as JSON.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { Session } from "node:inspector/promises";
import { register } from "node:module";
import { text } from "node:stream/consumers";
import { z } from "zod";

register("../fixtures/module-files.mjs", import.meta.url);
const { createGateway, definePlugin } = await import("propylon");

const VERSION = "2026-07-28";
/** Until what happens once has happened: files are loaded, connections kept. */
const WARM_UP = 20;

/** A server of the stateless era with one tool. */
const server = createServer((req, res) => void answer(req, res));
await once(server.listen(0, "127.0.0.1"), "listening");

async function answer(req, res) {
  const { id, method } = JSON.parse((await text(req)) || "{}");
  const result = {
    "server/discover": { supportedVersions: [VERSION], capabilities: { tools: {} } },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: "hello" }] },
  }[method];
  res.writeHead(200, { "content-type": "application/json" });
  res.end(JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", ...result } }));
}

const plugin = definePlugin({
  name: "tour",
  config: z.strictObject({ note: z.number() }),
  setup: (gateway) => gateway.use("limit", (each, next) => next(each)),
});

let note = 0;
const config = () => ({
  log: { level: "warn" },
  listeners: { main: { port: 0 } },
  servers: { echo: { url: `http://127.0.0.1:${server.address().port}/mcp` } },
  plugins: { tour: { note: note++ } },
});

const gateway = await createGateway(config(), { plugins: { tour: plugin } });
await gateway.listen();
const { url } = gateway.endpoints[0];

async function call() {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name: "echo", arguments: { a: 1 }, _meta };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": "tools/call",
      "mcp-name": "echo",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  const body = await response.text();
  if (!body.includes("hello")) throw new Error(`The call was not relayed: ${body}`);
}

async function reload() {
  const { plugins } = await gateway.apply(config());
  if (plugins.changed.join() !== "tour") throw new Error("The plugin was not changed.");
}

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** Files in which a function ran since this was last asked; a file's own top level is no function. */
async function filesUsed() {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const used = result.filter(({ functions }) =>
    functions.some(
      ({ functionName, ranges: [range] }) =>
        range.count > 0 && (functionName !== "" || range.startOffset > 0),
    ),
  );
  const names = used.map(
    ({ url: file }) => /\/dist\/modules\/((?:core|plugins)\/.*)\.js$/.exec(file)?.[1],
  );
  return names.filter((name) => name !== undefined).toSorted();
}

/** What happened a moment ago is over: the answer's last callbacks have run. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 50));

async function filesOf(work) {
  for (let round = 0; round < WARM_UP; round++) await work();
  await settle();
  await filesUsed();
  await work();
  await settle();
  return filesUsed();
}

const files = { call: await filesOf(call), reload: await filesOf(reload) };
process.stdout.write(`${JSON.stringify(files, undefined, 2)}\n`);
await gateway.close({ grace: 0 });
server.close();
server.closeAllConnections();
