import { spawnSync } from "node:child_process";
import { startNats } from "../../fixtures/nats/nats.mjs";
import { Process } from "../process.mjs";

/** Tasks per second of the paced round: far below what any of them can. */
const RATE = 100;
/** What everything is compared with, and what a sidecar cannot do without. */
const BARE = "bare pull and ack";
const BY_HAND = "by hand: pull, post, publish, ack";
const OURS = "propylon";
const MEMORY = "propylon, queue in memory, over HTTP";

/**
 * The sidecar over JetStream, one task at a time, beside two loops on the bare client: one that only pulls and acks, and one
 * that does by hand what a sidecar must (acceptance 8 of issue 5); and the queue in memory, with tasks and results over HTTP.
 */
export async function sidecar(bench) {
  const runtime = await Process.start("targets/runtime.mjs", { core: 1 });
  const url = `http://127.0.0.1:${runtime.port}`;
  const rigs = {
    [BARE]: await rig((nats) => bench.target("queue", { url: nats })),
    [BY_HAND]: await rig((nats) => bench.target("queue", { url: nats, runtime: `${url}/` })),
    [OURS]: await rig((nats) => startSidecar(bench, url, { nats: { url: nats } })),
    [MEMORY]: await memoryRig(bench, url),
  };
  const tasks = bench.options.quick ? 300 : 2_000;
  const drained = await measure(bench, `sidecar, ${tasks} tasks at once`, rigs, "drain", { tasks });
  const pacedBy = { ms: bench.options.ms, rate: RATE };
  const paced = await measure(bench, `sidecar, ${RATE} tasks/s`, rigs, "pace", pacedBy);
  for (const [name, floor] of [
    ["bare", BARE],
    ["hand", BY_HAND],
  ]) {
    bench.ratio(`sidecar_rate_vs_${name}`, drained[OURS], drained[floor], "rps");
    bench.ratio(`sidecar_p50_vs_${name}`, paced[OURS], paced[floor], "p50");
    bench.ratio(`sidecar_cpu_vs_${name}`, drained[OURS], drained[floor], "cpu");
  }
  for (const { nats, load, target } of Object.values(rigs)) {
    await bench.release([target, load]);
    await nats?.stop();
  }
  await bench.release([runtime]);
}

/** A queue of its own, off the core of what is measured, with a load generator. */
async function rig(start) {
  const nats = await startNats();
  spawnSync("taskset", ["-a", "-c", "-p", "1", String(nats.pid)]);
  const target = await start(nats.url);
  const load = await Process.start("queue.mjs", { core: 1, port: false });
  await ask(load, "open", { url: nats.url, subject: "agent.tasks.bench" });
  return { nats, target, load };
}

async function memoryRig(bench, runtime) {
  const target = await startSidecar(bench, runtime, {});
  const load = await Process.start("queue.mjs", { core: 1, port: false });
  await ask(load, "open", { http: `http://127.0.0.1:${target.port}/sidecar/tasks` });
  return { target, load };
}

/** A gateway with the sidecar, once it takes tasks. */
async function startSidecar(bench, runtime, options) {
  const gateway = await bench.gateway({
    endpoints: {},
    plugins: { sidecar: { name: "bench", runtime: { url: runtime }, ...options } },
  });
  for (let tries = 0; ; tries++) {
    const response = await fetch(`http://127.0.0.1:${gateway.port}/sidecar/ready`);
    if (response.ok) return gateway;
    if (tries === 500) throw new Error(`the sidecar is not ready: ${await response.text()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function ask(load, command, options) {
  const { result, error } = await load.ask({ command, options });
  if (error) throw new Error(error);
  return result;
}

function measure(bench, group, rigs, command, options) {
  const cell =
    ({ target, load }) =>
    async () => {
      const before = target.cpu();
      const { count, ...sample } = await ask(load, command, options);
      return { ...sample, cpu: (target.cpu() - before) / count, rss: target.rss() };
    };
  return bench.interleave(
    group,
    Object.fromEntries(Object.entries(rigs).map(([name, one]) => [name, cell(one)])),
  );
}
