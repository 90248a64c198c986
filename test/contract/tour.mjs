/**
 * Prints through how many files one relayed call goes, the reload of one plugin's option, and a message of A2A whose task a function
 * does: those of core and plugins in which a function ran, by V8's precise coverage of the compiled modules; and the functions of the
 * call in the order in which it enters them, by the lines of the sources. `node test/contract/tour.mjs` prints them as JSON.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Session } from "node:inspector/promises";
import { register, SourceMap } from "node:module";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { z } from "zod";

register("../fixtures/module-files.mjs", import.meta.url);
const { createGateway, definePlugin } = await import("propylon");
const { default: a2a } = await import("propylon/plugins/a2a");

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

const SKILL = "../fixtures/a2a-tck/skill.mjs";
let runtime;
let messages = 0;

/** A message of A2A 1.0 over JSON-RPC, whose task has ended with the answer. */
async function sendMessage() {
  const message = {
    messageId: `tck-artifact-text-${messages++}`,
    role: "ROLE_USER",
    parts: [{ text: "hello" }],
  };
  const response = await fetch(runtime.addresses.get("main").url, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } }),
  });
  const body = await response.text();
  if (!body.includes("TASK_STATE_COMPLETED")) throw new Error(`The task failed: ${body}`);
}

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

const MODULE = /\/dist\/modules\/((?:core|plugins)\/.*)\.js$/;

/** The functions that ran since this was last asked, by module; a file's own top level is no function. */
async function functionsUsed() {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const used = result.flatMap(({ scriptId, url: file, functions }) => {
    const [, name] = MODULE.exec(file) ?? [];
    const ranges = functions
      .filter(({ functionName, ranges: [{ count, startOffset }] }) => {
        return count > 0 && (functionName !== "" || startOffset > 0);
      })
      .map(({ ranges: [range] }) => range);
    return name === undefined || ranges.length === 0 ? [] : [{ scriptId, file, name, ranges }];
  });
  return used.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Has each of these functions note when it is entered: by breakpoints whose condition is never true. */
async function noteEntries(modules) {
  globalThis.entered = new Set();
  await session.post("Debugger.enable");
  for (const { scriptId, file, name, ranges } of modules) {
    const path = fileURLToPath(file);
    const code = readFileSync(path, "utf8");
    const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, "utf8")));
    for (const { startOffset, endOffset } of ranges) {
      const [start, end] = [startOffset, endOffset].map((offset) => placeIn(code, offset));
      const { locations } = await session.post("Debugger.getPossibleBreakpoints", {
        start: { scriptId, ...start },
        end: { scriptId, ...end },
      });
      const line = map.findEntry(start.lineNumber, start.columnNumber).originalLine + 1;
      const condition = `void globalThis.entered.add("${name}.ts:${line}")`;
      // A getter of one line may share its place with what it calls.
      if (locations[0])
        await session
          .post("Debugger.setBreakpoint", { location: locations[0], condition })
          .catch(() => {});
    }
  }
}

/** An offset as a line and a column, both from 0. */
function placeIn(code, offset) {
  const lines = code.slice(0, offset).split("\n");
  return { lineNumber: lines.length - 1, columnNumber: lines.at(-1).length };
}

/** What happened a moment ago is over: the answer's last callbacks have run. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 50));

async function functionsOf(work) {
  for (let round = 0; round < WARM_UP; round++) await work();
  await settle();
  await functionsUsed();
  await work();
  await settle();
  return functionsUsed();
}

const ofCall = await functionsOf(call);
const ofReload = await functionsOf(reload);
await noteEntries(ofCall);
await call();
await gateway.close({ grace: 0 });
await session.post("Debugger.disable");
// Not before: what a gateway loads behind its start would be taken for a part of the other one's call.
runtime = await createGateway(
  {
    log: { level: "warn" },
    listeners: { main: { port: 0 } },
    plugins: {
      a2a: {
        listener: "main",
        skills: [{ id: "skill", function: fileURLToPath(new URL(SKILL, import.meta.url)) }],
      },
    },
  },
  { plugins: { a2a } },
);
await runtime.listen();
const ofMessage = await functionsOf(sendMessage);
const found = {
  call: ofCall.map(({ name }) => name),
  reload: ofReload.map(({ name }) => name),
  message: ofMessage.map(({ name }) => name),
  passed: [...globalThis.entered].map((place) => {
    const [file, line] = place.split(":");
    return { file, line: Number(line) };
  }),
};
process.stdout.write(`${JSON.stringify(found, undefined, 2)}\n`);
await runtime.close({ grace: 0 });
server.close();
server.closeAllConnections();
