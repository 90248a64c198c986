/** Latency that the gateway adds at 500 calls a second. */
export async function latency(bench) {
  const upstream = await bench.upstream();
  const url = `http://127.0.0.1:${upstream.port}/mcp`;
  const proxy = await bench.target("proxy", { upstream: new URL(url).origin });
  const gateway = await bench.gateway({ servers: { upstream: { url } } });
  const drive = (target, dialect) => () =>
    bench.drive(target, { dialect, call: "echo", connections: 32, rate: 500 });
  const samples = await bench.interleave("500 calls/s", {
    "raw server": drive(upstream, "raw"),
    "raw proxy": drive(proxy, "raw"),
    propylon: drive(gateway, "legacy"),
  });
  for (const figure of ["p50", "p99"]) {
    const added = samples.propylon.map(
      (sample, round) => sample[figure] - samples["raw server"][round][figure],
    );
    bench.figure(`added_${figure}_ms`, added);
  }
  await bench.release([upstream, proxy, gateway]);
}
