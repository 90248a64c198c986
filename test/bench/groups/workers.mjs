import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { KEY, production } from "../dress.mjs";
import { freePort, Process } from "../process.mjs";

const CLI = fileURLToPath(new URL("../../../dist/plugins/cli.js", import.meta.url));

/**
 * How long a gateway is watched that nobody asks anything, and how long before nobody did: V8 collects once more a while after the
 * last call. In milliseconds.
 */
const REST_MS = 10_000;
const SETTLE_MS = 15_000;

/**
 * What workers cost: CPU per relayed call, bare and in the dress of production, and memory beside one process, what they take at rest,
 * and a new one for one that was killed. All are on one core, the load is on the other: throughput there says what a call costs, and N
 * workers on N free cores give N times that.
 */
export async function workers(bench) {
  const upstream = await bench.upstream();
  const folder = mkdtempSync(join(tmpdir(), "propylon-bench-"));
  const launch = (count, dress) => start(folder, upstream.port, count, dress);
  const targets = {
    "one process": await launch(1),
    "2 workers": await launch(2),
    "one process, production": await launch(1, production(folder)),
    "2 workers, production": await launch(2, production(folder)),
  };
  try {
    const wanted = { dialect: "legacy", path: "/mcp", call: "echo", connections: 16 };
    const authorization = `Bearer ${KEY}`;
    const cells = Object.fromEntries(
      Object.entries(targets).map(([name, target]) => [
        name,
        () => bench.drive(target, name.includes(",") ? { ...wanted, authorization } : wanted),
      ]),
    );
    // Each of two has half of the calls, so with the round that warms up it is only half as warm.
    for (const [name, cell] of Object.entries(cells)) if (name.startsWith("2")) await cell();
    const samples = await bench.interleave("workers, relayed call", cells);
    bench.ratio("workers_relay_cpu", samples["2 workers"], samples["one process"], "cpu");
    const [two, one] = ["2 workers, production", "one process, production"];
    bench.ratio("workers_production_cpu", samples[two], samples[one], "cpu");
    await pause(SETTLE_MS);
    const resting = Object.fromEntries(
      Object.entries(targets).map(([name, target]) => [name, () => rest(target)]),
    );
    const samplesOfRest = await bench.interleave("workers, a second at rest", resting, 1);
    for (const name of ["2 workers", two])
      bench.figure(
        `workers_rest_ms_per_s ${name}`,
        samplesOfRest[name].map(({ each }) => each),
      );
    const again = { "2 workers": async () => replace(await launch(2)) };
    await bench.interleave("workers, a new one for one that was killed", again);
  } finally {
    await bench.release([upstream, ...Object.values(targets)]);
    rmSync(folder, { recursive: true });
  }
}

/** What each gateway has that is not in the dress of production. */
const BARE = { log: { level: "warn", format: "json" }, plugins: { admin: {} } };

async function start(folder, upstream, count, { plugins, ...others } = BARE) {
  const port = await freePort();
  const config = {
    ...others,
    listeners: { main: { port } },
    workers: count,
    servers: { upstream: { url: `http://127.0.0.1:${upstream}/mcp` } },
    // Workers share no file of state.
    plugins: { ...plugins, gating: { state: false } },
  };
  const file = join(folder, `gateway-${port}.json`);
  writeFileSync(file, JSON.stringify(config));
  const target = await Process.launch([CLI, "start", file], { port });
  // It listens with the first of them.
  while (!(await isReady(port))) await pause(20);
  return target;
}

async function isReady(port) {
  const { ok } = await fetch(`http://127.0.0.1:${port}/readyz`, {
    headers: { connection: "close" },
  });
  return ok;
}

/** From the end of a worker until all serve again, of a gateway in which none has ended before. */
async function replace(target) {
  const [first] = target.children();
  const from = performance.now();
  process.kill(first, "SIGKILL");
  while (target.children().includes(first)) await pause(1);
  const before = target.cpu();
  while (!(await isComplete(target.port, first))) await pause(10);
  const sample = { wall: performance.now() - from, cpu: target.cpu() - before };
  await target.stop();
  return sample;
}

/** Whether all workers serve, and the primary has noticed that one is gone. */
async function isComplete(port, gone) {
  const page = await fetch(`http://127.0.0.1:${port}/_meta/version`, {
    headers: { connection: "close" },
  });
  const { workers: told } = await page.json();
  return told.all.every(({ state, pid }) => state === "ready" && pid !== gone);
}

/** CPU of a second, of all processes and of each in milliseconds, and memory. */
async function rest(target) {
  const before = target.cpu();
  await pause(REST_MS);
  const cpu = (target.cpu() - before) / (REST_MS / 1_000);
  return { cpu, rss: target.rss(), each: cpu / 1_000 / (1 + target.children().length) };
}
