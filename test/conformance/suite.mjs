// @ts-check
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/**
 * The official suite, in a package of its own: it needs Node 22 or later, which must not leak into the PATH of anything else.
 *
 * @typedef {{ name: string, ok: boolean, checks: number }} Scenario
 * @typedef {{ scored: Scenario[], unscored: Scenario[] }} Outcome
 * @typedef {Outcome & { output: string, failures: string[] }} Tested `failures`: the failed checks of scenarios that count
 */

const HERE = fileURLToPath(new URL("./", import.meta.url));
const ENTRY = `${HERE}node_modules/@modelcontextprotocol/conformance/dist/index.js`;
const NODES = [
  `node-${process.platform}-${process.arch}`,
  `node-bin-${process.platform}-${process.arch}`,
];

/** Installs the suite on first use, exactly as locked and without install scripts. */
export async function installSuite() {
  if (findSuite()) return;
  console.log("Installing the conformance suite (once) ...");
  await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: HERE,
  });
  if (!findSuite())
    throw new Error(
      `There is no packaged Node for ${process.platform} ${process.arch}; the suite needs Node 22 or later.`,
    );
}

/**
 * What starts the suite's command line; `undefined` where it is not installed.
 * @returns {[node: string, entry: string] | undefined}
 */
export function findSuite() {
  const paths = NODES.map((name) => `${HERE}node_modules/${name}/bin/node`);
  const node = paths.find((path) => existsSync(path));
  return node !== undefined && existsSync(ENTRY) ? [node, ENTRY] : undefined;
}

/** @type {Promise<import("propylon/kit").Semaphore> | undefined} */
let turns;

/**
 * Runs the suite's command line to its end, when it is its turn: it waits as often as it computes.
 * @param {string[]} args
 */
async function runSuite(...args) {
  // Not before the first run, since only then is everything built.
  turns ??= import("propylon/kit").then(
    ({ Semaphore }) => new Semaphore(2 * availableParallelism()),
  );
  const end = await (await turns).take(new AbortController().signal);
  return spawnSuite(args).finally(end);
}

/**
 * @param {string[]} args
 * @returns {Promise<{ code: number | null, output: string }>}
 */
function spawnSuite(args) {
  return new Promise((resolve, reject) => {
    const [node, entry] = /** @type {[string, string]} */ (findSuite());
    const child = spawn(node, [entry, ...args], {
      cwd: HERE,
      // Every run loads the same large program.
      env: { ...process.env, NODE_COMPILE_CACHE: `${HERE}node_modules/.cache/compiled` },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}

/** @type {Map<string, ReturnType<typeof runSuite>>} */
const lists = new Map();

/**
 * Names of the scenarios that count for a revision. Both roles are in one list.
 * @param {"server" | "client"} role
 * @param {string} revision
 */
async function scoredScenarios(role, revision) {
  const list = lists.get(revision) ?? runSuite("list", "--requirements", revision);
  lists.set(revision, list);
  const { output } = await list;
  const heading = role === "server" ? "Server scenarios" : "Client scenarios";
  const section = output.slice(output.indexOf(heading)).split("\n\n")[0] ?? "";
  return [...section.matchAll(/^ {2}- (\S+)$/gm)].map(([, name]) => /** @type {string} */ (name));
}

/**
 * Scenarios of an extension that count although the suite does not score them: its own reference server has no tasks. The one about
 * notifications skips itself.
 */
export const TASKS = [
  "tasks-lifecycle",
  "tasks-capability-negotiation",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-request-headers",
  "tasks-required-task-error",
  "tasks-mrtr-input",
  "tasks-dispatch-and-envelope",
  "tasks-mrtr-composition",
];

/**
 * Tests a server.
 * @param {string} url
 * @param {string} revision
 * @param {string[]} counted scenarios that are scored besides those of the suite
 * @returns {Promise<Tested>}
 */
export async function testServer(url, revision, counted) {
  const names = new Set([...(await scoredScenarios("server", revision)), ...counted]);
  return perform(names, "server", "--url", url, "--requirements", revision);
}

/**
 * Tests a client: the suite starts it for each scenario.
 * @param {string} command started with the URL of the scenario's server
 * @param {string} revision
 * @param {string[]} extra scenarios that are shown but not scored
 * @returns {Promise<Tested>}
 */
export async function testClient(command, revision, extra) {
  const names = new Set(await scoredScenarios("client", revision));
  // All scenarios begin at once, on a machine that may have other work.
  const words = ["--command", command, "--requirements", revision, "--timeout", "120000"];
  const { unscored, ...outcome } = await perform(names, "client", ...words);
  return { ...outcome, unscored: unscored.filter(({ name }) => extra.includes(name)) };
}

/**
 * @param {ReadonlySet<string>} names of scenarios that are scored
 * @param {string[]} words for the suite
 * @returns {Promise<Tested>}
 */
async function perform(names, ...words) {
  const folder = await mkdtemp(join(tmpdir(), "conformance-"));
  try {
    const { output } = await runSuite(...words, "--output-dir", folder);
    const outcome = outcomeOf(output, names);
    const failed = outcome.scored.filter(({ ok }) => !ok);
    const failures = await Promise.all(failed.map(({ name }) => readFailures(folder, name)));
    return { ...outcome, output, failures: failures.flat() };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * What failed in a scenario. The suite prints numbers only.
 * @param {string} folder
 * @param {string} name
 */
async function readFailures(folder, name) {
  const paths = (await readdir(folder, { recursive: true })).filter(
    (path) => path.includes(`${name}-2`) && path.endsWith("checks.json"),
  );
  const texts = await Promise.all(paths.map((path) => readFile(join(folder, path), "utf8")));
  /** @type {{ id: string, status: string, errorMessage?: string }[]} */
  const checks = texts.flatMap((text) => JSON.parse(text));
  return checks
    .filter(({ status }) => status === "FAILURE" || status === "WARNING")
    .map(({ id, errorMessage }) => `${name}, ${id}: ${errorMessage}`);
}

/**
 * @param {string} output of the suite
 * @param {ReadonlySet<string>} names of scenarios that are scored
 * @returns {Outcome}
 */
function outcomeOf(output, names) {
  const summary = output.slice(output.lastIndexOf("SUMMARY ==="));
  const lines = summary.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed(, \d+ warnings)?$/gm);
  const all = [...lines].map(([, name = "", passed, failed, warnings]) => ({
    name,
    // A scenario that checked nothing shows no failure either.
    ok: Number(passed) > 0 && failed === "0" && warnings === undefined,
    checks: Number(passed),
  }));
  const missing = [...names].filter((name) => !all.some((one) => one.name === name));
  return {
    scored: [
      ...all.filter(({ name }) => names.has(name)),
      ...missing.map((name) => ({ name, ok: false, checks: 0 })),
    ],
    unscored: all.filter(({ name }) => !names.has(name)),
  };
}
