/** Progress notifications through a relay: paced on many streams, and one burst. None may be lost or reordered. */
export async function progress(bench) {
  const upstream = await bench.upstream();
  const url = `http://127.0.0.1:${upstream.port}/mcp`;
  const targets = {
    "raw SSE relay": [await bench.target("proxy", { upstream: new URL(url).origin }), "raw"],
    "naive SDK 1.32": [await bench.target("naive", { upstreams: [url] }), "legacy"],
    propylon: [await bench.gateway({ servers: { upstream: { url } } }), "legacy"],
  };
  const paced = { streams: 100, count: bench.options.quick ? 50 : 150, interval: 20 };
  const burst = { streams: 1, count: 20_000, interval: 0 };
  await measure(bench, targets, "progress, 100 streams of 50/s", paced, "progress_cpu");
  await measure(bench, targets, "progress, one burst of 20,000", burst, "progress_burst_cpu");
  await bench.release([upstream, ...Object.values(targets).map(([target]) => target)]);
}

async function measure(bench, targets, group, shape, ratio) {
  const cells = Object.entries(targets).map(([name, [target, dialect]]) => [
    name,
    () => relayOnce(bench, target, { dialect, ...shape }),
  ]);
  const samples = await bench.interleave(group, Object.fromEntries(cells));
  bench.ratio(ratio, samples.propylon, samples["raw SSE relay"], "cpu");
}

async function relayOnce(bench, target, options) {
  const before = target.cpu();
  const { count, elapsed } = await bench.load("progress", {
    port: target.port,
    path: "/mcp",
    ...options,
  });
  return { rps: (count / elapsed) * 1000, cpu: (target.cpu() - before) / count, rss: target.rss() };
}
