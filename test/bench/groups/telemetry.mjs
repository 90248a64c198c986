import { startCollector } from "../collector.mjs";

/** What a relayed call costs with traces and metrics, by what becomes of them, over one without the plugin. */
export async function telemetry(bench) {
  const collector = await startCollector();
  try {
    await measure(bench, collector.url);
  } finally {
    collector.close();
  }
}

/** Options of the plugin by what is measured; a short interval, so that exporting is part of it. */
function variants(endpoint) {
  const exporting = { endpoint, interval: "1s" };
  return {
    "no exporter": {},
    "metrics only": { ...exporting, sampling: 0 },
    "1 of 10 traces": { ...exporting, sampling: 0.1 },
    "all traces": { ...exporting, sampling: 1 },
  };
}

async function measure(bench, endpoint) {
  const upstream = await bench.upstream();
  const servers = { upstream: { url: `http://127.0.0.1:${upstream.port}/mcp` } };
  const none = await bench.gateway({ servers });
  const targets = {};
  for (const [name, options] of Object.entries(variants(endpoint)))
    targets[name] = await bench.gateway({ servers, plugins: { telemetry: options } });
  const all = { none, ...targets };
  for (const target of Object.values(all)) await warmUp(bench, target);
  const drive = (target) => () =>
    bench.drive(target, { dialect: "legacy", call: "echo", connections: 16 });
  const cells = Object.fromEntries(
    Object.entries(all).map(([name, target]) => [name, drive(target)]),
  );
  const samples = await bench.interleave("telemetry, 16 connections", cells);
  for (const name of Object.keys(targets))
    bench.ratio(`telemetry_cpu ${name}`, samples[name], samples.none, "cpu");
  await bench.release([upstream, ...Object.values(all)]);
}

async function warmUp(bench, { port }) {
  const load = { port, path: "/mcp", dialect: "legacy", call: "echo", connections: 16 };
  await bench.load("prepare", load);
  await bench.load("count", { calls: bench.options.quick ? 5_000 : 20_000 });
  await bench.load("finish");
}
