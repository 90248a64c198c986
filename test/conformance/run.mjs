// @ts-check
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify, stripVTControlCharacters } from "node:util";
import { build } from "../../playground/ready.mjs";
import { startClients } from "./clients.mjs";
import { installSuite, TASKS, testClient, testServer } from "./suite.mjs";

/**
 * `npm run conformance [-- --only TEXT] [-- --without TEXT] [-- --verbose]`: the official suite against the gateway in every mode
 * that it serves, all modes beside each other.
 *
 * @typedef {import("propylon").GatewayConfigInput} Config
 * `extra`: of a server scenarios that count although the suite does not score them, of a client scenarios that are shown all the same.
 *
 * @typedef {{ role: "server" | "client", revision: string, mode: string, expected: number, config?: () => Promise<Config>, extra?: string[] }} Run
 */

const OLD = "2025-11-25";
const NEW = "2026-07-28";
const UPSTREAMS = fileURLToPath(new URL("../fixtures/upstreams/", import.meta.url));
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** @type {import("node:child_process").ChildProcess[]} */
const children = [];

const plugin = async () => ({ plugins: { "./test/fixtures/everything/plugin.mjs": {} } });
/** @param {string} file */
const http = (file) => async () => ({ servers: { everything: { url: await upstream(file) } } });
/** @param {string} file */
const stdio = (file) => async () => ({
  servers: { everything: { command: process.execPath, args: [UPSTREAMS + file, "stdio"] } },
});

/** What the fixture's tools are as tasks: some always, one refused without, the others when they take long. */
const tasks = {
  after: "300ms",
  pollInterval: "100ms",
  tools: {
    "everything.failing_job": { after: 0, required: true },
    "everything.confirm_delete": { after: 0 },
    "everything.multi_input": { after: 0 },
  },
};

/** Scenarios of an extension that the suite does not score: logins without a person. */
const MACHINES = ["auth/client-credentials-basic", "auth/client-credentials-jwt"];

/** @type {Run[]} */
const RUNS = [
  { role: "server", revision: OLD, mode: "plugin", expected: 30, config: plugin },
  { role: "server", revision: NEW, mode: "plugin", expected: 46, extra: TASKS, config: plugin },
  { role: "server", revision: OLD, mode: "proxy-http", expected: 30, config: http("modern.mjs") },
  {
    role: "server",
    revision: NEW,
    mode: "proxy-http",
    expected: 46,
    extra: TASKS,
    config: http("modern.mjs"),
  },
  { role: "server", revision: OLD, mode: "proxy-stdio", expected: 30, config: stdio("modern.mjs") },
  {
    role: "server",
    revision: NEW,
    mode: "proxy-stdio",
    expected: 46,
    extra: TASKS,
    config: stdio("modern.mjs"),
  },
  {
    role: "server",
    revision: OLD,
    mode: "proxy-http-sdk1",
    expected: 30,
    config: http("legacy.mjs"),
  },
  {
    role: "server",
    revision: OLD,
    mode: "proxy-stdio-sdk1",
    expected: 30,
    config: stdio("legacy.mjs"),
  },
  {
    role: "client",
    revision: OLD,
    mode: "upstream",
    expected: 18,
    extra: ["json-schema-2020-12-preservation", ...MACHINES],
  },
  {
    role: "client",
    revision: NEW,
    mode: "upstream",
    expected: 32,
    extra: ["json-schema-2020-12-preservation", ...MACHINES],
  },
];

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    without: { type: "string" },
    verbose: { type: "boolean", default: false },
  },
});

await installSuite();
build();
const { createGateway } = await import("propylon");
const clients = await startClients();

/**
 * Starts a fixture upstream over HTTP, and resolves with its URL.
 * @param {string} file
 */
async function upstream(file) {
  const child = spawn(process.execPath, [UPSTREAMS + file, "http"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const [line] = await once(createInterface(child.stdout), "line");
  return String(JSON.parse(line).url);
}

/**
 * @param {Run} run
 * @returns {Promise<import("./suite.mjs").Tested>}
 */
async function perform({ role, revision, config, extra = [] }) {
  if (role === "client" || !config) return testClient(clients.command, revision, extra);
  const { plugins: chosenPlugins, ...rest } = await config();
  const plugins = { ...chosenPlugins, tasks };
  const gateway = await createGateway(
    { listeners: { main: { port: 0 } }, log: { level: "error" }, ...rest, plugins },
    {
      cwd: ROOT,
      resolvePlugin: async (key) =>
        (await import(new URL(`../../${key}`, import.meta.url).href)).default,
    },
  );
  try {
    await gateway.listen();
    return await testServer(String(gateway.endpoints[0]?.url), revision, extra);
  } finally {
    await gateway.close({ grace: 0 });
  }
}

/**
 * Prints the outcome of a run; says whether every scenario that counts has passed.
 * @param {Run} run
 * @param {import("./suite.mjs").Tested} outcome
 */
function report(run, { scored, unscored, failures }) {
  const passed = scored.filter(({ ok }) => ok).length;
  console.log(`${titleOf(run)}: ${passed}/${run.expected}`);
  for (const { name, ok } of scored) if (!ok) console.log(`  failed: ${name}`);
  for (const failure of failures) console.log(`    ${failure}`);
  // The suite is pinned; another number of scenarios means that something was left out.
  if (scored.length !== run.expected)
    console.log(`  the suite lists ${scored.length} scenarios, not ${run.expected}`);
  const left = unscored.filter(({ ok }) => !ok).map(({ name }) => name);
  const names = left.length > 0 ? ` (not passed: ${left.join(", ")})` : "";
  if (unscored.length > 0)
    console.log(`  not scored: ${unscored.length - left.length}/${unscored.length}${names}`);
  return passed === run.expected && scored.length === run.expected;
}

/** @param {Run} run */
const titleOf = ({ role, revision, mode }) => `${role} ${revision} ${mode}`;

/** Its server logs people in at a provider, which the fixtures of the tests have. */
const LOGIN = "authorization server";

/** Says whether the scenarios of the plugin oauth have passed. */
async function testLogin() {
  const words = ["run", "--config", "test/vitest.config.ts", "test/e2e/oauth-conformance.test.ts"];
  const running = promisify(execFile)(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", ...words],
    {
      cwd: ROOT,
    },
  );
  const { stdout, stderr } = await running.catch((error) => error);
  const isOk =
    running.child.exitCode === 0 && /Tests\s+1 passed/.test(stripVTControlCharacters(stdout));
  console.log(`${LOGIN}: ${isOk ? 2 : 0}/2`);
  if (!isOk) console.log(stdout + stderr);
  return isOk;
}

/** @param {Run} run */
async function test(run) {
  const outcome = await perform(run);
  if (!report(run, outcome)) process.exitCode = 1;
  if (options.verbose) console.log(outcome.output);
}

/** @param {string} title */
const isChosen = (title) =>
  title.includes(options.only) && !(options.without && title.includes(options.without));
const chosen = RUNS.filter((run) => isChosen(titleOf(run)));
const hasLogin = isChosen(LOGIN);
if (chosen.length === 0 && !hasLogin) {
  const titles = [...RUNS.map(titleOf), LOGIN].join("\n");
  console.error(`No run is called "${options.only}". There are:\n${titles}`);
  process.exitCode = 1;
}
try {
  const tests = chosen.map(test);
  if (hasLogin && !(await testLogin())) process.exitCode = 1;
  await Promise.all(tests);
} finally {
  clients.close();
  for (const child of children) child.kill();
}
