/** tools/list of 10, 1,000 and 10,000 tools, aggregated from 10 upstreams. */
const UPSTREAMS = 10;
/** Least plausible body, as a check that all tools are there: about 590 bytes each. */
const BYTES_PER_TOOL = 400;

export async function list(bench) {
  for (const tools of [10, 1_000, 10_000]) await listOf(bench, tools);
}

async function listOf(bench, tools) {
  const upstream = await bench.upstream();
  const url = (server) =>
    `http://127.0.0.1:${upstream.port}/mcp?tools=${tools / UPSTREAMS}&server=s${server}`;
  const urls = Array.from({ length: UPSTREAMS }, (_, server) => url(server));
  const naive = await bench.target("naive", { upstreams: urls });
  const gateway = await bench.gateway({
    servers: Object.fromEntries(urls.map((one, server) => [`s${server}`, { url: one }])),
  });
  const options = {
    dialect: "legacy",
    call: "list",
    connections: 8,
    bytes: tools * BYTES_PER_TOOL,
  };

  const samples = await bench.interleave(
    `tools/list of ${tools.toLocaleString("en-US")} tools, ${UPSTREAMS} upstreams`,
    {
      "naive SDK 1.32": () => bench.drive(naive, options),
      propylon: () => withoutUpstream(upstream, () => bench.drive(gateway, options)),
    },
  );
  bench.ratio(`list_${tools}_vs_naive`, samples.propylon, samples["naive SDK 1.32"], "rps");
  await bench.release([upstream, naive, gateway]);
}

/** A list must come from memory: any request that reaches an upstream meanwhile voids the run. */
async function withoutUpstream(upstream, measure) {
  const before = await upstream.ask({});
  const sample = await measure();
  const after = await upstream.ask({});
  if (after.requests !== before.requests)
    throw new Error(`tools/list cost ${after.requests - before.requests} upstream requests`);
  return sample;
}
