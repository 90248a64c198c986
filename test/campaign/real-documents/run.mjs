/**
 * Real OpenAPI documents behind a gateway, which is a process of its own with its default limits. Each is read while /livez is asked,
 * every endpoint of it is listed by the official SDKs (TypeScript 1 and 2, Python), no tool has what Claude, OpenAI or a strict client
 * refuse, and five calls (and one of Python) arrive as the document has them at an API made of it.
 *
 * The documents and a virtual environment of Python come from the registries into DOCUMENTS_CACHE. DOCUMENTS=folder and
 * PYTHON=program name others, SHARD=0/2 takes every second document from the first, ONLY=text those with the text in their path.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { bringDocuments, bringPython, filesOf } from "./corpus.mjs";
import { PythonClient, readByFirst, readBySecond } from "./clients.mjs";
import { MockApi } from "./mock.mjs";
import { refusalsOf } from "./refusals.mjs";
import { Sampler } from "./samples.mjs";

const CALLS = 5;
const MAX_LIST = 8 * 1024 * 1024;
const MAX_DOCUMENT = 16 * 1024 * 1024;
const MAX_MEMORY = 1.5 * 1024 ** 3;
const { ONLY: only = "", SHARD: shard = "0/1" } = process.env;
const folder = bringDocuments();
const python = bringPython();

const mock = await new MockApi().start();
const gateway = fork(join(import.meta.dirname, "gateway.mjs"));
const pythonClient = python && new PythonClient(python);
const totals = { documents: 0, others: 0, tools: 0, calls: 0, failedCalls: 0, byPython: 0 };
/** The most of each, with the document. */
const most = { list: [0], seconds: [0], livezMs: [0], heldMs: [0], memoryMB: [0] };
const livez = { asked: 0, above100: 0 };
const faults = [];

function note(what, value, file) {
  if (value > most[what][0]) most[what] = [Math.round(value * 100) / 100, file];
}

async function heard(kind) {
  for (;;) {
    const [message] = await once(gateway, "message");
    if (message.kind === kind) return message;
  }
}

/** Asks again and again until the document was read. */
async function askLivez(url, file, reading) {
  let isOver = false;
  void reading.then(() => (isOver = true));
  while (!isOver) {
    const began = performance.now();
    await (await fetch(new URL("/livez", url))).arrayBuffer();
    const took = performance.now() - began;
    livez.asked++;
    if (took > 100) livez.above100++;
    note("livezMs", took, file);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function readRoot(text, file) {
  if (file.endsWith(".json")) return JSON.parse(text);
  return /^["']?openapi["']?\s*:/m.test(text) ? parse(text, { uniqueKeys: false }) : undefined;
}

async function tryDocument(file) {
  const text = readFileSync(join(folder, file), "utf8");
  const root = readRoot(text, file);
  if (!String(root?.openapi ?? "").startsWith("3.")) return void totals.others++;
  mock.load(text, root, dirname(join(folder, file)));
  const size = Buffer.byteLength(text);
  // As the gateway's hint says for what is longer than that.
  const more = size > MAX_DOCUMENT ? { maxResult: size } : {};
  gateway.send({ spec: `${mock.origin}/openapi`, baseUrl: mock.origin, ...more });
  const { url } = await heard("open");
  const reading = heard("read");
  await askLivez(url, file, reading);
  const read = await reading;
  try {
    if (read.state !== "ready") throw new Error(read.reason);
    note("seconds", read.took / 1_000, file);
    note("heldMs", read.held, file);
    await tryClients(url, file, mock.endpoints);
    totals.documents++;
  } finally {
    const closed = heard("closed");
    gateway.send("close");
    note("memoryMB", (await closed).peak / 1e6, file);
  }
  if (most.memoryMB[0] * 1e6 > MAX_MEMORY)
    throw new Error(`The gateway takes ${most.memoryMB[0]} MB.`);
}

async function tryClients(url, file, endpoints) {
  const { client, tools } = await readByFirst(url);
  try {
    const names = JSON.stringify(tools.map(({ name }) => name));
    if (tools.length !== endpoints.length)
      throw new Error(`TypeScript lists ${tools.length} of ${endpoints.length} endpoints`);
    const newer = await readBySecond(url);
    await newer.client.close();
    if (JSON.stringify(newer.tools.map(({ name }) => name)) !== names)
      throw new Error("The two TypeScript SDKs list different tools.");
    const size = JSON.stringify(tools).length;
    note("list", size, file);
    if (size > MAX_LIST) throw new Error(`The list has ${size} characters.`);
    const refused = tools.flatMap(refusalsOf);
    if (refused.length > 0)
      throw new Error(`${refused.length} refused: ${refused.slice(0, 3).join(", ")}`);
    const first = await callSome(client, tools, endpoints);
    if (pythonClient) await tryPython(url, names, first);
    totals.tools += tools.length;
  } finally {
    await client.close();
  }
}

/** Every second call has every argument, the others the required ones. Resolves with one call of those. */
async function callSome(client, tools, endpoints) {
  const step = Math.max(1, Math.floor(tools.length / CALLS));
  const chosen = tools
    .map((_, at) => at)
    .filter((at) => at % step === 0)
    .slice(0, CALLS);
  const failures = [];
  let call;
  for (const [turn, at] of chosen.entries()) {
    const { name, inputSchema } = tools[at];
    const given = new Sampler(inputSchema, turn % 2 === 1).arguments();
    call = { name, arguments: given };
    mock.expect(endpoints[at]);
    totals.calls++;
    const problem = await callOne(client, call);
    if (problem) failures.push(`${name}: ${problem}`);
  }
  totals.failedCalls += failures.length;
  if (failures.length > 0) throw new Error(failures.join("\n    "));
  return call;
}

async function callOne(client, call) {
  const result = await client.callTool(call);
  if (result.isError) return JSON.stringify(result.content).slice(0, 300);
  const { type = "", body } = mock.answer;
  if (body !== undefined && /json|text\/plain/.test(type) && result.content[0]?.text !== body)
    return `The answer is ${JSON.stringify(result.content).slice(0, 200)}`;
  return (await mock.problems(call.arguments)).join("; ");
}

async function tryPython(url, names, call) {
  const said = await pythonClient.read(url, call);
  if (JSON.stringify(said.names) !== names) throw new Error("Python lists other tools.");
  if (said.isError) throw new Error(`Python: the call of ${call.name} fails.`);
  totals.byPython += said.names.length;
}

/** What was found so far, when it is ended, too. */
function report() {
  console.log(
    JSON.stringify(
      { ...totals, livez, most, faults: faults.length, python: python !== undefined },
      undefined,
      2,
    ),
  );
}
process.once("SIGTERM", () => {
  report();
  gateway.kill();
  process.exit(1);
});

const [part, parts] = shard.split("/").map(Number);
const files = filesOf(folder)
  .filter((file) => file.includes(only))
  .filter((_, at) => at % parts === part);
for (const file of files)
  try {
    await tryDocument(file);
  } catch (error) {
    faults.push(file);
    console.log(`${file}: ${error.message}`);
  }
report();
pythonClient?.close();
mock.close();
gateway.disconnect();
process.exitCode = faults.length === 0 && totals.documents > 0 ? 0 : 1;
