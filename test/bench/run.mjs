/**
 * npm run bench -- [--quick] [--long] [--rounds N] [--only relay,list] [--peers] [--beside mcpo,1mcp] [--json FILE] [--before REF]
 *
 * `--peers` installs gateways of others below test/bench/peers, where nothing else fetches anything. Alone it means the groups that
 * measure them, peers and stdio; `--beside` names those that the group peers measures, else all that are installed.
 *
 * `--before` names a commit, or a checkout of earlier code with its build: watch, start and store measure it beside that of now.
 * Alone it means the group watch.
 *
 * Measures ratios against floors inside one run; see docs/benchmarks.md. No figure fails the run, a wrong answer does.
 */
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { checkoutOf } from "./before.mjs";
import { Bench } from "./bench.mjs";
import { a2a } from "./groups/a2a.mjs";
import { auth } from "./groups/auth.mjs";
import { http } from "./groups/http.mjs";
import { large } from "./groups/large.mjs";
import { latency } from "./groups/latency.mjs";
import { lifecycle } from "./groups/lifecycle.mjs";
import { list } from "./groups/list.mjs";
import { memory } from "./groups/memory.mjs";
import { peers } from "./groups/peers.mjs";
import { plugins } from "./groups/plugins.mjs";
import { progress } from "./groups/progress.mjs";
import { relay } from "./groups/relay.mjs";
import { shapes } from "./groups/shapes.mjs";
import { sidecar } from "./groups/sidecar.mjs";
import { start } from "./groups/start.mjs";
import { store } from "./groups/store.mjs";
import { stdio } from "./groups/stdio.mjs";
import { tails } from "./groups/tails.mjs";
import { telemetry } from "./groups/telemetry.mjs";
import { ui } from "./groups/ui.mjs";
import { watch } from "./groups/watch.mjs";
import { workers } from "./groups/workers.mjs";
import { installPeers, peerVersions } from "./peers.mjs";
import { stopAll } from "./process.mjs";
import { markdown } from "./table.mjs";

const GROUPS = {
  relay,
  shapes,
  plugins,
  telemetry,
  auth,
  http,
  a2a,
  stdio,
  large,
  list,
  latency,
  tails,
  progress,
  lifecycle,
  sidecar,
  memory,
  start,
  store,
  workers,
  ui,
};
/** Groups that run only when they are asked for. */
const ASKED_FOR = { peers, watch };

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    rounds: { type: "string" },
    only: { type: "string" },
    peers: { type: "boolean", default: false },
    beside: { type: "string" },
    json: { type: "string" },
    before: { type: "string" },
    "no-build": { type: "boolean", default: false },
  },
});

function chosenGroups() {
  const all = { ...GROUPS, ...ASKED_FOR };
  const names = values.only?.split(",") ?? usualGroups();
  const unknown = names.find((name) => !(name in all));
  if (unknown)
    throw new Error(`Unknown group "${unknown}"; choose from ${Object.keys(all).join(", ")}.`);
  return names.map((name) => [name, all[name]]);
}

function usualGroups() {
  if (values.before !== undefined) return ["watch"];
  return values.peers ? ["peers", "stdio"] : Object.keys(GROUPS);
}

/** The gateway is measured as it ships. */
function build() {
  if (values["no-build"] && existsSync(new URL("../../dist/core/index.js", import.meta.url)))
    return;
  const root = fileURLToPath(new URL("../..", import.meta.url));
  if (spawnSync("npm", ["run", "build", "--silent"], { cwd: root, stdio: "inherit" }).status !== 0)
    throw new Error("npm run build failed");
}

async function main() {
  const rounds = Number(values.rounds ?? (values.quick ? 2 : 5));
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Error(`--rounds must be a whole number from 1, got "${values.rounds}".`);
  const groups = chosenGroups();
  build();
  const log = (line) => console.error(line);
  const bench = new Bench({
    rounds,
    ms: values.quick ? 500 : 2_000,
    quick: values.quick,
    long: values.long,
    before: values.before === undefined ? undefined : checkoutOf(values.before),
    beside: values.beside?.split(","),
    log,
  });
  if (values.peers) Object.assign(bench.absent, installPeers(log));
  for (const [name, group] of groups) await runGroup(bench, name, group);
  report(bench, rounds);
}

/** A group whose answers were wrong has no figures; the others still count. */
async function runGroup(bench, name, group) {
  try {
    await group(bench);
  } catch (error) {
    console.error(`bench: group "${name}" is void: ${error.message}`);
    process.exitCode = 1;
    await bench.dropLoad();
    await stopAll();
  }
}

function report({ rows, ratios, verdicts, absent }, rounds) {
  const facts = { node: process.version, cpus: cpus().length, rounds, peers: peerVersions() };
  console.log(
    `Node ${facts.node}, ${facts.cpus} cores, ${rounds} counted rounds; medians with the least and greatest.\n`,
  );
  console.log(markdown({ rows, ratios, verdicts }));
  for (const [name, reason] of Object.entries(absent))
    console.log(`\nNot there: ${name}: ${reason}`);
  if (values.json)
    writeFileSync(
      values.json,
      `${JSON.stringify({ ...facts, absent, rows, ratios, verdicts }, undefined, 2)}\n`,
    );
}

process.once("SIGINT", () => void stopAll().then(() => process.exit(130)));

try {
  await main();
} catch (error) {
  console.error(`bench: ${error.message}`);
  process.exitCode = 1;
} finally {
  await stopAll();
}
