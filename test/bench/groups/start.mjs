import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Process, freePort } from "../process.mjs";

const CLI = fileURLToPath(new URL("../../../dist/core/cli/main.js", import.meta.url));

/** Start-up of `propylon start` with one HTTP server until it accepts connections, against a Node process that does nothing. */
export async function start(bench) {
  const upstream = await bench.upstream();
  const folder = mkdtempSync(join(tmpdir(), "propylon-bench-"));
  const samples = await bench.interleave("start", {
    "empty Node": () => startOf(bench.target("empty", undefined, { execArgv: [] })),
    "propylon start (dist, not bundled)": async () => {
      const port = await freePort();
      const config = join(folder, "gateway.json");
      const servers = { upstream: { url: `http://127.0.0.1:${upstream.port}/mcp` } };
      writeFileSync(
        config,
        JSON.stringify({ listeners: { main: { port } }, servers, log: { level: "warn" } }),
      );
      return startOf(Process.launch([CLI, "start", config], { port }));
    },
  });
  bench.ratio(
    "start_vs_node",
    samples["propylon start (dist, not bundled)"],
    samples["empty Node"],
    "cpu",
  );
  rmSync(folder, { recursive: true });
  await bench.release([upstream]);
}

/** `cpu` is in microseconds, as in every other row. */
async function startOf(starting) {
  const started = await starting;
  const sample = { wall: started.startWall, cpu: started.startCpu * 1000, rss: started.rss() };
  await started.stop();
  return sample;
}
