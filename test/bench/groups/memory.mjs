import { setTimeout as pause } from "node:timers/promises";

/** How long a gateway is watched at rest, and how long before nothing but its start has happened, in milliseconds. */
const REST_MS = 15_000;
const SETTLE_MS = 20_000;

/** Heap of idle sessions, of open streams and of calls that are over; idle resident memory. */
const memoryOf = (target) => target.ask({ memory: true });

export async function memory(bench) {
  const upstream = await bench.upstream();
  const url = `http://127.0.0.1:${upstream.port}/mcp`;
  const servers = { upstream: { url } };
  await heapPerSession(bench, servers, {
    name: "idle session",
    streams: false,
    ratio: "session_heap_bytes",
  });
  await heapPerSession(bench, servers, {
    name: "session with open stream",
    streams: true,
    ratio: "stream_heap_bytes",
  });
  await heapPerCall(bench, servers);
  await idleMemory(bench, upstream);
  await idleCpu(bench, upstream, "idle_cpu_ms_per_s", {});
  await idleCpu(bench, upstream, "idle_cpu_ms_per_s health", { health: {} });
  await bench.release([upstream]);
}

async function heapPerSession(bench, servers, { name, streams, ratio }) {
  const count = bench.options.quick ? 500 : 2_000;
  const limits = { sessions: 100_000 };
  const gateway = await bench.gateway({ servers, limits });
  const open = (many) =>
    bench.load("sessions", { port: gateway.port, path: "/mcp", count: many, streams });
  await open(200); // compiles the code and grows the tables once
  const samples = [];
  for (let round = 0; round < 3; round++) {
    const before = await memoryOf(gateway);
    await open(count);
    samples.push({ bytes: ((await memoryOf(gateway)).heap - before.heap) / count });
  }
  bench.row("heap, propylon", name, samples);
  bench.figure(
    ratio,
    samples.map(({ bytes }) => bytes),
  );
  await bench.dropLoad();
  await bench.release([gateway]);
}

/** Calls on the same connections and sessions throughout: what grows then grows for ever. */
async function heapPerCall(bench, servers) {
  const calls = bench.options.long ? 500_000 : bench.options.quick ? 10_000 : 50_000;
  const gateway = await bench.gateway({ servers });
  await bench.load("prepare", {
    port: gateway.port,
    path: "/mcp",
    dialect: "legacy",
    call: "echo",
    connections: 16,
  });
  await bench.load("count", { calls: Math.min(calls, 20_000) });
  const before = await memoryOf(gateway);
  await bench.load("count", { calls });
  const bytes = ((await memoryOf(gateway)).heap - before.heap) / calls;
  await bench.load("finish");
  bench.row("heap, propylon", `per call, over ${calls.toLocaleString("en-US")}`, [{ bytes }]);
  bench.figure("heap_growth_bytes", [bytes]);
  await bench.release([gateway]);
}

function serversAt({ port }, count) {
  const urls = Array.from(
    { length: count },
    (_, server) => `http://127.0.0.1:${port}/mcp?tools=10&server=s${server}`,
  );
  return Object.fromEntries(urls.map((url, server) => [`s${server}`, { url }]));
}

/** A gateway with many servers and nobody who asks: probes, polls and timers. */
async function idleCpu(bench, upstream, figure, plugins) {
  const servers = serversAt(upstream, 100);
  const gateway = await bench.gateway({ servers, plugins }, { execArgv: [] });
  await pause(bench.options.quick ? SETTLE_MS / 4 : SETTLE_MS);
  const samples = [];
  for (let round = 0; round < 2; round++) {
    const before = gateway.cpu();
    await pause(REST_MS);
    samples.push({ cpu: (gateway.cpu() - before) / (REST_MS / 1_000), rss: gateway.rss() });
  }
  bench.row("a second at rest, 100 servers", figure.split(" ")[1] ?? "bare", samples);
  bench.figure(
    figure,
    samples.map(({ cpu }) => cpu / 1_000),
  );
  await bench.release([gateway]);
}

async function idleMemory(bench, upstream) {
  const servers = serversAt(upstream, 10);
  const rssOf = async (start) => {
    const target = await start();
    const rss = target.rss();
    await target.stop();
    return { rss };
  };
  const samples = await bench.interleave("idle", {
    "h3 alone": () => rssOf(() => bench.target("h3", undefined, { execArgv: [] })),
    "propylon, 10 upstreams": () => rssOf(() => bench.gateway({ servers }, { execArgv: [] })),
  });
  bench.ratio("idle_rss_vs_h3", samples["propylon, 10 upstreams"], samples["h3 alone"], "rss");
}
