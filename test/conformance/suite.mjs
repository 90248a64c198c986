// @ts-check
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/**
 * The official suite, in a package of its own: it needs Node 22 or later, which must not leak into the PATH of anything else.
 *
 * @typedef {{ name: string, ok: boolean, checks: number }} Scenario
 * @typedef {{ scored: Scenario[], unscored: Scenario[] }} Outcome
 */

const HERE = fileURLToPath(new URL("./", import.meta.url));
const ENTRY = `${HERE}node_modules/@modelcontextprotocol/conformance/dist/index.js`;
const NODES = [
  `node-${process.platform}-${process.arch}`,
  `node-bin-${process.platform}-${process.arch}`,
];

/** Installs the suite on first use, exactly as locked and without install scripts. */
export async function installSuite() {
  if (existsSync(ENTRY) && findNode()) return;
  console.log("Installing the conformance suite (once) ...");
  await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: HERE,
  });
  if (!findNode())
    throw new Error(
      `There is no packaged Node for ${process.platform} ${process.arch}; the suite needs Node 22 or later.`,
    );
}

function findNode() {
  return NODES.map((name) => `${HERE}node_modules/${name}/bin/node`).find((path) =>
    existsSync(path),
  );
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
    const child = spawn(/** @type {string} */ (findNode()), [ENTRY, ...args], {
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

/**
 * Names of the scenarios that count for a revision.
 * @param {"server" | "client"} role
 * @param {string} revision
 */
async function scoredScenarios(role, revision) {
  const { output } = await runSuite("list", "--requirements", revision);
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
 * @returns {Promise<Outcome & { output: string }>}
 */
export async function testServer(url, revision, counted) {
  const names = new Set([...(await scoredScenarios("server", revision)), ...counted]);
  const { output } = await runSuite("server", "--url", url, "--requirements", revision);
  const summary = output.slice(output.lastIndexOf("=== SUMMARY ==="));
  const all = [...summary.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed$/gm)].map(
    ([, name = "", passed, failed]) => ({
      name,
      // A scenario that checked nothing shows no failure either.
      ok: Number(passed) > 0 && failed === "0",
      checks: Number(passed),
    }),
  );
  const missing = [...names].filter((name) => !all.some((one) => one.name === name));
  return {
    scored: [
      ...all.filter(({ name }) => names.has(name)),
      ...missing.map((name) => ({ name, ok: false, checks: 0 })),
    ],
    unscored: all.filter(({ name }) => !names.has(name)),
    output,
  };
}

/**
 * Tests a client: each scenario is a run of its own.
 * @param {string} command started with the URL of the scenario's server
 * @param {string} revision
 * @param {string[]} extra scenarios that are run but not scored
 * @returns {Promise<Outcome & { output: string }>}
 */
export async function testClient(command, revision, extra) {
  const names = await scoredScenarios("client", revision);
  const outcome = {
    scored: /** @type {Scenario[]} */ ([]),
    unscored: /** @type {Scenario[]} */ ([]),
    output: "",
  };
  const runs = [...names, ...extra].map(async (name) => {
    const words = ["--command", command, "--scenario", name, "--spec-version", revision];
    // Those of extensions belong to no revision.
    const ran = await runSuite("client", ...words, ...(extra.includes(name) ? ["--force"] : []));
    return { name, ...ran };
  });
  for (const { name, code, output } of await Promise.all(runs)) {
    const [, passed = "0", total = "0"] = /^Passed: (\d+)\/(\d+)/m.exec(output) ?? [];
    const ok = code === 0 && Number(passed) > 0 && passed === total;
    (names.includes(name) ? outcome.scored : outcome.unscored).push({
      name,
      ok,
      checks: Number(passed),
    });
    outcome.output += `\n##### ${name}\n${output}`;
  }
  return outcome;
}
