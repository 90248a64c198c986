/** A tool result of 1 MiB, 8 connections. */
export async function large(bench) {
  const upstream = await bench.upstream();
  const url = `http://127.0.0.1:${upstream.port}/mcp`;
  const proxy = await bench.target("proxy", { upstream: new URL(url).origin });
  const gateway = await bench.gateway({ servers: { upstream: { url } } });
  const drive = (target, dialect) => () =>
    bench.drive(target, { dialect, call: "large", connections: 8 });
  const samples = await bench.interleave("1 MiB result, 8 connections", {
    "byte pass-through": drive(proxy, "raw"),
    propylon: drive(gateway, "legacy"),
  });
  bench.ratio("large_result_cpu", samples.propylon, samples["byte pass-through"], "cpu");
  await bench.release([upstream, proxy, gateway]);
}
