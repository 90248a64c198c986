/**
 * What the usual calls cost beside the code that `--before` names. Each round starts both gateways again, since a process keeps what
 * its compiler once decided, and measures every call in the order A B B A.
 */
import { rmSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KEY, production } from "../dress.mjs";
import { stdioUpstream } from "../process.mjs";
import { interval } from "../table.mjs";

const MS = 1_000;
const WARM_UP_MS = 1_200;

/** Gateways by name: their config, and the calls that are made to each. `cycle` opens and ends sessions. */
const DRESSES = {
  core: {
    config: (servers) => ({ servers }),
    calls: {
      core: {},
      "core, 64 connections": { connections: 64 },
      modern: { dialect: "modern" },
      "10 KB both ways": { call: "echo10k" },
      session: "cycle",
    },
  },
  production: {
    config: (servers, directory) => ({ servers, ...productionOfBoth(directory) }),
    calls: { production: { authorization: `Bearer ${KEY}` } },
  },
  POST: {
    config: (servers) => ({ servers, plugins: { openapi: {} } }),
    calls: { "POST /{server}/{tool}": { dialect: "http", path: "/upstream/echo" } },
  },
  stdio: {
    config: () => ({ servers: { upstream: commandOf(stdioUpstream()) } }),
    calls: { stdio: {} },
  },
};

export async function watch(bench) {
  if (bench.options.before === undefined) throw new Error("watch needs --before REF");
  const upstream = await bench.upstream();
  const servers = { upstream: { url: `http://127.0.0.1:${upstream.port}/mcp` } };
  const pairs = {};
  for (let round = 0; round < bench.options.rounds; round++) {
    for (const dress of Object.values(DRESSES))
      await measure(bench, dress, { servers, isEven: round % 2 === 0, pairs });
    bench.options.log(`watch: round ${round + 1}/${bench.options.rounds}`);
  }
  for (const [name, samples] of Object.entries(pairs)) {
    bench.row("CPU per call, own and before", name, samples);
    bench.verdicts.push({ name, ...interval(samples.map(({ cpu, before }) => cpu / before)) });
  }
  await bench.release([upstream]);
}

async function measure(bench, { config, calls }, { servers, isEven, pairs }) {
  const directories = [0, 1].map(() => mkdtempSync(join(tmpdir(), "propylon-bench-")));
  const [own, before] = await Promise.all([
    bench.gateway(config(servers, directories[0])),
    bench.gatewayBefore(config(servers, directories[1])),
  ]);
  for (const [name, call] of Object.entries(calls)) {
    const sample = await samplePair(bench, isEven ? [own, before] : [before, own], call);
    (pairs[name] ??= []).push(isEven ? sample : { cpu: sample.before, before: sample.cpu });
  }
  await bench.release([own, before]);
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
}

/** CPU microseconds per call of both, each measured twice. */
async function samplePair(bench, [first, second], call) {
  for (const target of [first, second]) await costOf(bench, target, call, WARM_UP_MS);
  const costs = [];
  for (const target of [first, second, second, first])
    costs.push(await costOf(bench, target, call, bench.options.quick ? MS / 4 : MS));
  const [a, b, c, d] = costs;
  return { cpu: (a + d) / 2, before: (b + c) / 2 };
}

async function costOf(bench, target, call, ms) {
  const used = target.cpu();
  if (call === "cycle") {
    const { count } = await bench.load("cycle", { port: target.port, path: "/mcp", ms });
    return (target.cpu() - used) / count;
  }
  const wanted = { dialect: "legacy", call: "echo", connections: 16, ...call, ms };
  return (await bench.drive(target, wanted)).cpu;
}

/** Without the bound on running calls, whose option had another name in November. */
function productionOfBoth(directory) {
  const { plugins, ...rest } = production(directory);
  const { rates } = plugins.ratelimit;
  return { ...rest, plugins: { ...plugins, ratelimit: { rates } } };
}

function commandOf([command, ...args]) {
  return { command, args };
}
