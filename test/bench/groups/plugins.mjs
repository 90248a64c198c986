import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { KEY, optionsIn, production } from "../dress.mjs";

/** What a relayed call costs with each first-party plugin that stands in its way, with all of them, and with none. */
export async function plugins(bench) {
  const directory = mkdtempSync(path.join(tmpdir(), "propylon-bench-"));
  try {
    await measure(bench, directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What a plugin cannot run without. */
const NEEDS = { admin: ["gating"] };

async function measure(bench, directory) {
  const upstream = await bench.upstream();
  const url = `http://127.0.0.1:${upstream.port}/mcp`;
  const gateway = (names) => {
    const options = optionsIn(directory, names.join("-"));
    return bench.gateway({
      servers: { upstream: { url } },
      plugins: Object.fromEntries(names.map((name) => [name, options[name]])),
    });
  };
  const all = Object.keys(optionsIn(directory, "all"));
  const targets = {
    "raw proxy": await bench.target("proxy", { upstream: new URL(url).origin }),
    "naive SDK 1.32": await bench.target("naive", { upstreams: [url] }),
    "no plugin": await gateway([]),
  };
  for (const name of all) targets[name] = await gateway([...(NEEDS[name] ?? []), name]);
  targets["all plugins"] = await gateway(all);
  targets["production"] = await bench.gateway({
    servers: { upstream: { url } },
    ...production(directory),
  });

  for (const [name, target] of Object.entries(targets))
    await warmUp(bench, target, name === "raw proxy" ? "raw" : "legacy", `Bearer ${KEY}`);
  await cpu(bench, targets, `Bearer ${KEY}`);
  await latency(bench, upstream, targets);
  await bench.release([upstream, ...Object.values(targets)]);
}

/** The first ten thousand calls of a process cost up to five times as much, which would be taken for the plugin. */
async function warmUp(bench, target, dialect, authorization) {
  await bench.load("prepare", {
    port: target.port,
    path: "/mcp",
    dialect,
    call: "echo",
    connections: 16,
    authorization,
  });
  await bench.load("count", { calls: bench.options.quick ? 10_000 : 30_000 });
  await bench.load("finish");
}

/**
 * Each cell is measured beside what it is compared with, in turns of A B B A: a plugin costs less than what a shared machine
 * changes from one second to the next.
 */
async function cpu(bench, targets, authorization) {
  const none = targets["no plugin"];
  const all = targets["all plugins"];
  const drive = (target, dialect) => () =>
    bench.drive(target, {
      dialect,
      call: "echo",
      connections: 16,
      ms: bench.options.ms / 4,
      ...(target === targets["production"] && { authorization }),
    });
  const beside =
    (target, other, dialect = "legacy") =>
    () =>
      besides(drive(target, "legacy"), drive(other, dialect));
  const names = Object.keys(optionsIn("", ""));
  const samples = await bench.interleave("plugins, 16 connections", {
    ...Object.fromEntries(names.map((name) => [name, beside(targets[name], none)])),
    "all plugins": beside(all, none),
    "no plugin, beside raw proxy": beside(none, targets["raw proxy"], "raw"),
    "all plugins, beside raw proxy": beside(all, targets["raw proxy"], "raw"),
    "production, beside raw proxy": beside(targets["production"], targets["raw proxy"], "raw"),
    "all plugins, beside naive": beside(all, targets["naive SDK 1.32"]),
  });
  const figure = (name, cell, of) => bench.figure(name, samples[cell].map(of));
  figure("relay_core_cpu beside", "no plugin, beside raw proxy", ({ overCpu }) => overCpu);
  figure("relay_full_cpu", "all plugins, beside raw proxy", ({ overCpu }) => overCpu);
  figure("production_cpu", "production, beside raw proxy", ({ overCpu }) => overCpu);
  figure("relay_full_rps", "all plugins, beside raw proxy", ({ overRps }) => overRps);
  figure("relay_full_vs_naive", "all plugins, beside naive", ({ overCpu }) => 1 / overCpu);
  figure("all_plugins_cpu", "all plugins", ({ overCpu }) => overCpu);
  for (const name of names) figure(`plugin_cpu ${name}`, name, ({ overCpu }) => overCpu);
}

/** The mean figures of one, and how they compare with those of the other. */
async function besides(drive, driveOther) {
  const samples = [await drive()];
  const others = [await driveOther(), await driveOther()];
  samples.push(await drive());
  const mean = (list, figure) => (list[0][figure] + list[1][figure]) / 2;
  const own = Object.fromEntries(
    Object.keys(samples[0]).map((figure) => [figure, mean(samples, figure)]),
  );
  return {
    ...own,
    overCpu: own.cpu / mean(others, "cpu"),
    overRps: own.rps / mean(others, "rps"),
  };
}

async function latency(bench, upstream, targets) {
  const drive = (target, dialect) => () =>
    bench.drive(target, { dialect, call: "echo", connections: 32, rate: 500 });
  const samples = await bench.interleave("plugins, 500 calls/s", {
    "raw server": drive(upstream, "raw"),
    "no plugin": drive(targets["no plugin"], "legacy"),
    "all plugins": drive(targets["all plugins"], "legacy"),
  });
  for (const figure of ["p50", "p99"]) {
    const added = samples["all plugins"].map(
      (sample, round) => sample[figure] - samples["raw server"][round][figure],
    );
    bench.figure(`added_full_${figure}_ms`, added);
  }
}
