import { Process } from "../process.mjs";

const SERVERS = 100;
const MANY = 1_000;

/** Calls of other shapes than one of 350 bytes on 16 connections: longer ones, a thousand at once, to a hundred servers; and sessions. */
export async function shapes(bench) {
  const upstream = await bench.upstream();
  const url = `http://127.0.0.1:${upstream.port}/mcp`;
  const servers = (count) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, { url }]));
  const proxy = await bench.target("proxy", { upstream: new URL(url).origin });
  const one = await bench.gateway({ servers: { upstream: { url } } });
  const hundred = await bench.gateway({
    servers: servers(SERVERS),
    endpoints: { mcp: { path: "/mcp", servers: Object.keys(servers(SERVERS)), naming: "server" } },
  });
  // Where the gateway is: what the three requests of a session cost at least.
  const raw = await Process.start("targets/upstream.mjs", { core: 0 });
  const drive = (target, wanted) => () =>
    bench.drive(target, { dialect: "legacy", call: "echo", connections: 16, ...wanted });
  for (const target of [one, hundred]) await warmUp(bench, target, target === hundred);
  const samples = await bench.interleave("calls of other shapes", {
    "raw proxy": drive(proxy, { dialect: "raw" }),
    "one call of 350 bytes": drive(one, {}),
    "10 KB both ways": drive(one, { call: "echo10k" }),
    "raw proxy, 10 KB both ways": drive(proxy, { dialect: "raw", call: "echo10k" }),
    "1,000 at once": drive(one, { connections: MANY }),
    "raw proxy, 1,000 at once": drive(proxy, { dialect: "raw", connections: MANY }),
    "100 at once, one server": drive(one, { connections: SERVERS }),
    "100 at once, 100 servers": drive(hundred, { connections: SERVERS, call: "spread" }),
    session: () => cycle(bench, one),
    "raw server, session": () => cycle(bench, raw),
  });
  const compare = (name, cell, floor) => bench.ratio(name, samples[cell], samples[floor], "cpu");
  compare("arguments_10k_cpu", "10 KB both ways", "one call of 350 bytes");
  compare("arguments_10k_vs_raw", "10 KB both ways", "raw proxy, 10 KB both ways");
  compare("concurrent_1000_cpu", "1,000 at once", "one call of 350 bytes");
  compare("concurrent_1000_vs_raw", "1,000 at once", "raw proxy, 1,000 at once");
  compare("servers_100_cpu", "100 at once, 100 servers", "100 at once, one server");
  compare("session_cpu", "session", "one call of 350 bytes");
  compare("session_vs_raw", "session", "raw server, session");
  await bench.release([upstream, proxy, one, hundred, raw]);
}

/** Opening and ending a session, as if it were one call. */
async function cycle(bench, target) {
  const { ms } = bench.options;
  const before = target.cpu();
  const { count } = await bench.load("cycle", { port: target.port, path: "/mcp", ms });
  return { rps: count / (ms / 1_000), cpu: (target.cpu() - before) / count, rss: target.rss() };
}

async function warmUp(bench, { port }, isSpread) {
  const connections = isSpread ? SERVERS : 16;
  const call = isSpread ? "spread" : "echo";
  await bench.load("prepare", { port, path: "/mcp", dialect: "legacy", call, connections });
  await bench.load("count", { calls: bench.options.quick ? 10_000 : 30_000 });
  await bench.load("finish");
}
