import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCollector } from "../collector.mjs";
import { fullDress, KEY, production } from "../dress.mjs";
import { seed } from "../team.mjs";

const RATES = [500, 3_000];
const CONNECTIONS = 16;
/** Milliseconds of one measurement at each rate; ten minutes with --long. */
const MS = 10_000;
const LONG_MS = 600_000;

/** What each gateway adds to the p99 of the raw server, over what the raw proxy adds. */
const FIGURES = {
  core: "tail_core",
  production: "tail_production",
  "production, sqlite": "tail_sqlite",
  "full dress": "tail_full",
};

/** What calls at a fixed rate wait for that is not the network, and which turns of the loop they wait behind. */
export async function tails(bench) {
  const directory = mkdtempSync(join(tmpdir(), "propylon-bench-"));
  const collector = await startCollector();
  try {
    await measure(bench, directory, collector.url);
  } finally {
    collector.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measure(bench, directory, collector) {
  const upstream = await bench.upstream();
  const teams = `sqlite:${join(directory, "teams.db")}`;
  const { jwt } = await seed(teams);
  const url = `http://127.0.0.1:${upstream.port}/mcp`;
  const servers = { upstream: { url } };
  const targets = {
    "raw server": upstream,
    "raw proxy": await bench.target("proxy", { upstream: new URL(url).origin }),
    core: await bench.gateway({ servers }),
    production: await bench.gateway({ servers, ...production(directory) }),
    "production, sqlite": await bench.gateway({
      servers,
      ...production(directory, "sqlite"),
      store: `sqlite:${join(directory, "gateway.db")}`,
    }),
    "full dress": await bench.gateway({ servers, ...fullDress(directory, teams, collector) }),
  };
  const ms = bench.options.quick ? 2_000 : MS;
  const drive = (name, rate, duration) => () =>
    bench.drive(targets[name], {
      dialect: name.startsWith("raw") ? "raw" : "legacy",
      call: "echo",
      connections: CONNECTIONS,
      authorization: `Bearer ${name === "full dress" ? jwt : KEY}`,
      rate,
      ms: duration,
    });
  for (const name of Object.keys(targets)) await drive(name, RATES.at(-1), ms)();
  await compareCost(bench, targets, (name) => drive(name, undefined, bench.options.ms));
  for (const rate of RATES) {
    const cells = Object.fromEntries(
      Object.keys(targets).map((name) => [name, drive(name, rate, ms)]),
    );
    const samples = await bench.interleave(`${rate} calls/s`, cells);
    for (const [name, figure] of Object.entries(FIGURES)) {
      const added = (of, figureOf) =>
        samples[of].map(
          (sample, round) => sample[figureOf] - samples["raw server"][round][figureOf],
        );
      const floor = added("raw proxy", "p99");
      bench.figure(
        `${figure}_p99 ${rate}/s`,
        added(name, "p99").map((above, round) => above / floor[round]),
      );
      bench.figure(`tail_p999_ms ${name}, ${rate}/s`, added(name, "p999"));
    }
  }
  // The raw proxy shows how long the machine itself holds a loop.
  for (const name of ["raw proxy", ...Object.keys(FIGURES)])
    await watch(bench, name, targets[name], drive);
  await bench.release(Object.values(targets));
}

/** What a call costs of CPU when nothing waits between calls. */
async function compareCost(bench, targets, drive) {
  const names = Object.keys(targets).filter((name) => name !== "raw server");
  const cells = Object.fromEntries(names.map((name) => [name, drive(name)]));
  const samples = await bench.interleave("one after the other, 16 connections", cells);
  for (const name of Object.keys(FIGURES))
    bench.ratio(`dress_cpu ${name}`, samples[name], samples["raw proxy"], "cpu");
}

/** Says which turns were the longest, and what ran in them. */
async function watch(bench, name, target, drive) {
  await target.ask({ turns: "start" });
  await drive(name, RATES.at(-1), bench.options.long ? LONG_MS : MS)();
  const { long, turns, plugins, collections } = await target.ask({ turns: "read" });
  bench.figure(`longest_turn_ms ${name}`, turns.map(({ ms }) => ms).concat(turns.length ? [] : 0));
  bench.options.log(`${name}: ${long} turns above 4 ms; garbage: ${JSON.stringify(collections)}`);
  bench.options.log(`  longest of each plugin in one turn, in ms: ${JSON.stringify(plugins)}`);
  for (const { ms, ran } of turns) bench.options.log(`  ${ms.toFixed(1)} ms: ${ran.join(", ")}`);
}
