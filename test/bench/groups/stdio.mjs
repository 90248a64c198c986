/** One tools/call over a stdio child, 16 connections. */
import { stdioUpstream } from "../process.mjs";
import { startStdioPeers } from "../peers.mjs";

export async function stdio(bench) {
  const command = stdioUpstream();
  const targets = {
    "thin stdio": [await bench.target("thin-stdio", { command }), "raw"],
    "naive SDK 1.32": [await bench.target("naive", { command }), "legacy"],
    propylon: [
      await bench.gateway({
        servers: { upstream: { command: command[0], args: command.slice(1) } },
      }),
      "legacy",
    ],
  };
  for (const [name, target] of Object.entries(await startStdioPeers(command)))
    targets[name] = [target, "legacy"];
  const cells = Object.entries(targets).map(([name, [target, dialect]]) => [
    name,
    () => bench.drive(target, { dialect, call: "echo", connections: 16 }),
  ]);
  const samples = await bench.interleave("stdio, 16 connections", Object.fromEntries(cells));
  bench.ratio("stdio_cpu", samples.propylon, samples["thin stdio"], "cpu");
  await bench.release(Object.values(targets).map(([target]) => target));
}
