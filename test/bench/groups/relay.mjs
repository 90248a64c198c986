/**
 * One tools/call of about 350 bytes over HTTP, at 16 and 64 connections. `undici` is a gateway that asks its servers with
 * undici.
 */
import { peerVersions, startHttpPeer } from "../peers.mjs";

export async function relay(bench) {
  const upstream = await bench.upstream();
  const url = `http://127.0.0.1:${upstream.port}/mcp`;
  const targets = {
    "raw server": [upstream, "raw"],
    "raw proxy": [await bench.target("proxy", { upstream: new URL(url).origin }), "raw"],
    "naive SDK 1.32": [await bench.target("naive", { upstreams: [url] }), "legacy"],
  };
  const config = { servers: { upstream: { url } } };
  const gateways = {
    propylon: await bench.gateway(config),
    undici: await bench.gateway({ ...config, plugins: { servers: { httpClient: "undici" } } }),
  };
  for (const [name, gateway] of Object.entries(gateways)) {
    targets[`${name} legacy`] = [gateway, "legacy"];
    targets[`${name} modern`] = [gateway, "modern"];
  }
  const hub = await startHub(bench, url);
  if (hub) targets["mcp-hub (REST)"] = [hub, "hub"];

  for (const connections of [16, 64]) await relayAt(bench, targets, connections);
  await bench.release([upstream, ...Object.values(targets).map(([target]) => target)]);
}

async function relayAt(bench, targets, connections) {
  const cells = Object.entries(targets).map(([name, [target, dialect]]) => [
    name,
    () =>
      bench.drive(target, {
        dialect,
        call: "echo",
        connections,
        path: dialect === "hub" ? "/api/servers/tools" : "/mcp",
      }),
  ]);
  const samples = await bench.interleave(
    `relay, ${connections} connections`,
    Object.fromEntries(cells),
  );
  const ours = samples["propylon legacy"];
  bench.ratio(`relay_rps_${connections}`, ours, samples["raw proxy"], "rps");
  for (const era of ["legacy", "modern"]) {
    const own = samples[`propylon ${era}`];
    const where = `${era}, ${connections} connections`;
    bench.ratio(`relay_undici_cpu ${where}`, samples[`undici ${era}`], own, "cpu");
    bench.ratio(`relay_undici_rps ${where}`, samples[`undici ${era}`], own, "rps");
  }
  if (connections !== 16) return;
  bench.ratio("relay_core_cpu", ours, samples["raw proxy"], "cpu");
  bench.ratio("relay_vs_naive", samples["naive SDK 1.32"], ours, "cpu");
  const hub = samples["mcp-hub (REST)"];
  if (hub) bench.ratio("relay_vs_best_peer", hub, ours, "cpu");
}

/** mcp-hub, `undefined` where it is not installed. */
async function startHub(bench, url) {
  if (!peerVersions()["mcp-hub"]) return undefined;
  const { target, call } = await startHttpPeer("mcp-hub", url);
  await bench.firstAnswer(target, call);
  return target;
}
