import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { expect, it } from "vitest";
import type { AnyPlugin, Gateway } from "../../core/index.ts";
import { setupGateway } from "../../core/testing/index.ts";
import admin from "../../plugins/admin/index.ts";
import gating from "../../plugins/gating/index.ts";
import { makeFolder } from "../kit/folder.ts";
import { until } from "../kit/until.ts";
import { importAll, LEAST_OPTIONS } from "./first-party.ts";

/** What a child writes to stderr before it dies: words that only operators see, and secrets that nobody does. */
const WORDS = "zzlastwordszz";
const SECRETS = {
  named: "argsecretzz1",
  url: "dbpwzz2",
  variable: "envsecretzz3",
  argument: "gluedzz4",
} as const;
const DYING = `console.error("${WORDS} postgres://u:${SECRETS.url}@h/x --token=${SECRETS.named} " + process.env.ANY + " " + process.argv[1].slice(2));`;
/** Answers the handshake and its list, and dies in a call. */
const MORTAL = `const send = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") send(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "m", version: "1" } });
  else if (method === "tools/list") send(id, { tools: [{ name: "die", inputSchema: { type: "object" } }] });
  else if (method === "tools/call") { ${DYING} process.exit(1); }
  else if (id !== undefined) send(id, {});
});`;

const OPTIONS: typeof LEAST_OPTIONS = { ...LEAST_OPTIONS, breaker: { failures: 2 } };
const STATE = "gateway_state.json";
const ROLES = ["viewer", "caller", "operator"] as const;
type Asker = (typeof ROLES)[number] | "nobody";
const SERVERS = ["dies", "mortal"] as const;
/** Streams go on: what comes at first is looked at. */
const FIRST_WORDS_MS = 1_000;

interface Rig {
  readonly gateway: Gateway;
  readonly folder: string;
  readonly lines: readonly string[];
  /** The whole answer: its head and its body. */
  readonly ask: (asker: Asker, method: string, path: string, body?: unknown) => Promise<string>;
}

async function start(plugins: readonly AnyPlugin[], remembered: "sqlite" | "file"): Promise<Rig> {
  const folder = makeFolder();
  const lines: string[] = [];
  const child = { command: process.execPath, env: { ANY: SECRETS.variable } };
  const glued = `-p${SECRETS.argument}`;
  const hashOf = (role: string): string =>
    `sha256:${createHash("sha256").update(`key-${role}`).digest("hex")}`;
  const { gateway, url } = await setupGateway({
    plugins: plugins.map((plugin) => [
      plugin,
      plugin === gating && remembered === "file"
        ? { state: join(folder, STATE) }
        : (OPTIONS[plugin.name] ?? {}),
    ]),
    cwd: folder,
    client: false,
    log: pino({ level: "debug" }, { write: (line: string) => void lines.push(line) }),
    config: {
      ...(remembered === "sqlite" && { store: `sqlite:${join(folder, "gateway.db")}` }),
      auth: {
        strict: false,
        maxFailures: 0,
        keys: Object.fromEntries(ROLES.map((role) => [role, { role, hash: hashOf(role) }])),
      },
      servers: {
        dies: { ...child, args: ["-e", `${DYING} process.exit(1)`, "--", glued] },
        mortal: { ...child, args: ["-e", MORTAL, "--", glued] },
      },
    },
  });
  const ask: Rig["ask"] = async (asker, method, path, body) => {
    const response = await fetch(url + path, {
      method,
      redirect: "manual",
      signal: AbortSignal.timeout(30_000),
      headers: {
        accept: "application/json, text/event-stream, */*;q=0.5",
        ...(asker !== "nobody" && { authorization: `Bearer key-${asker}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return [...response.headers, await firstWordsOf(response)].join("\n");
  };
  return { gateway, folder, lines, ask };
}

async function firstWordsOf(response: Response): Promise<string> {
  if (!response.headers.get("content-type")?.includes("event-stream")) return response.text();
  let text = "";
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const timer = setTimeout(() => void reader.cancel(), FIRST_WORDS_MS);
  for (let piece = await reader.read(); !piece.done; piece = await reader.read())
    text += piece.value;
  clearTimeout(timer);
  return text;
}

const failed = ({ gateway }: Rig, name: string): boolean =>
  gateway.servers.get(name)?.status.lastError?.includes(WORDS) === true;

/** One server never comes up, the other one dies in a call. */
async function breakAll(rig: Rig): Promise<void> {
  const { gateway, ask } = rig;
  await until(() => failed(rig, "dies"));
  await until(() => gateway.servers.get("mortal")?.status.state === "ready");
  await ask("caller", "POST", "/mortal/die", {});
  await until(() => failed(rig, "mortal"));
}

const secretsIn = (text: string): string[] =>
  Object.values(SECRETS).filter((secret) => text.includes(secret));

it("requirements F1, issue line 7: no route, event or page shows what a child wrote to stderr to anybody below an operator, and none its secrets", async () => {
  const rig = await start(await importAll(), "sqlite");
  await breakAll(rig);
  const told: string[] = [];
  const look = async (asker: Asker, method: string, path: string, body?: unknown) => {
    const answer = await rig.ask(asker, method, path, body);
    for (const secret of secretsIn(answer)) told.push(`${asker} ${method} ${path}: ${secret}`);
    if (asker !== "operator" && answer.includes(WORDS)) told.push(`${asker} ${method} ${path}`);
    return answer;
  };
  const routes = rig.gateway.describe().routes.filter(({ method }) => method === "GET");
  const paths = routes.flatMap(({ path }) =>
    SERVERS.map((server) =>
      path
        .replace(/:server|:name/, server)
        .replace(":tool", "die")
        .replaceAll(/:\w+|\*\*/g, "x"),
    ),
  );
  let shown = 0;
  for (const asker of ["nobody", ...ROLES] as const) {
    for (const path of new Set(paths))
      if ((await look(asker, "GET", path)).includes(WORDS)) shown++;
    for (const server of SERVERS) await look(asker, "POST", `/${server}/die`, {});
    const rpc = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "die" } };
    for (const endpoint of rig.gateway.endpoints)
      await look(asker, "POST", new URL(endpoint.url).pathname, rpc);
  }
  expect(told).toEqual([]);
  // It was there to be found: at /_meta/servers, at each of the two, in the state and on stderr.
  expect(shown).toBeGreaterThanOrEqual(6);
  expect(rig.lines.filter((line) => secretsIn(line).length > 0)).toEqual([]);
  for (const file of await readdir(rig.folder)) {
    const bytes = await readFile(join(rig.folder, file), "latin1");
    expect([file, secretsIn(bytes)]).toEqual([file, []]);
  }
});

it("requirements F1: the state file holds no secret of what a child wrote to stderr", async () => {
  const rig = await start([admin, gating], "file");
  await until(() => failed(rig, "dies"));
  const file = join(rig.folder, STATE);
  const text = await until(async () => {
    const written = await readFile(file, "utf8").catch(() => "");
    return written.includes(WORDS) && written;
  });
  expect(secretsIn(text)).toEqual([]);
});
