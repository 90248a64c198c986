import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort, Process } from "../process.mjs";

const CLI = fileURLToPath(new URL("../../../dist/plugins/cli.js", import.meta.url));

/** How long a gateway is watched that nobody asks anything, in milliseconds. */
const REST_MS = 10_000;

/**
 * What workers cost: CPU per relayed call and memory beside one process, what they take at rest, and a new one for one that was killed. All are on one core, the load is on
 * the other: throughput there says what a call costs, and N workers on N free cores give N times that.
 */
export async function workers(bench) {
  const upstream = await bench.upstream();
  const folder = mkdtempSync(join(tmpdir(), "propylon-bench-"));
  const launch = (count) => start(folder, upstream.port, count);
  const targets = { "one process": await launch(1), "2 workers": await launch(2) };
  try {
    const wanted = { dialect: "legacy", path: "/mcp", call: "echo", connections: 16 };
    const cells = Object.fromEntries(
      Object.entries(targets).map(([name, target]) => [name, () => bench.drive(target, wanted)]),
    );
    // Each of two has half of the calls, so with the round that warms up it is only half as warm.
    await cells["2 workers"]();
    const samples = await bench.interleave("workers, relayed call", cells);
    bench.ratio("workers_relay_cpu", samples["2 workers"], samples["one process"], "cpu");
    const resting = Object.fromEntries(
      Object.entries(targets).map(([name, target]) => [name, () => rest(target)]),
    );
    await bench.interleave("workers, a second at rest", resting, 1);
    const again = { "2 workers": async () => replace(await launch(2)) };
    await bench.interleave("workers, a new one for one that was killed", again);
  } finally {
    await bench.release([upstream, ...Object.values(targets)]);
    rmSync(folder, { recursive: true });
  }
}

async function start(folder, upstream, count) {
  const port = await freePort();
  const config = {
    listeners: { main: { port } },
    workers: count,
    log: { level: "warn", format: "json" },
    servers: { upstream: { url: `http://127.0.0.1:${upstream}/mcp` } },
    plugins: { admin: {}, gating: { state: false } },
  };
  const file = join(folder, `gateway-${count}.json`);
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

/** CPU of a second, and memory. */
async function rest(target) {
  const before = target.cpu();
  await pause(REST_MS);
  return { cpu: (target.cpu() - before) / (REST_MS / 1_000), rss: target.rss() };
}
