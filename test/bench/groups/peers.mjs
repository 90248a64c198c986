/**
 * Gateways of others beside ours, with the raw proxy as floor. Each starts again in every round and runs alone, so that none
 * pays for what another does at rest.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { KEY, production } from "../dress.mjs";
import { httpPeers, startHttpPeer } from "../peers.mjs";
import { Process, freePort } from "../process.mjs";

const CLI = fileURLToPath(new URL("../../../dist/plugins/cli.js", import.meta.url));
const CORE = "propylon, core";
const CONNECTIONS = 16;
const RATE = 500;
/** Long enough for the slowest to open one. */
const SOME_SESSIONS_MS = 100;
const WARM_UP_MS = 1_200;
const OURS = { dialect: "legacy", call: "echo", path: "/mcp" };

export async function peers(bench) {
  const folder = mkdtempSync(join(tmpdir(), "propylon-bench-"));
  try {
    await compare(bench, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compare(bench, folder) {
  const upstream = await bench.upstream();
  const url = `http://127.0.0.1:${upstream.port}/mcp`;
  const cells = { ...(await cellsOfOurs(bench, folder, url)), ...(await cellsOfPeers(bench, url)) };
  const samples = await inTurns(bench, cells);
  for (const [name, list] of Object.entries(samples)) {
    bench.row(`${CONNECTIONS} connections; p50 and p99 at ${RATE} calls/s`, name, list);
    if (name !== CORE) bench.ratio(`peer_cpu ${name}`, list, samples[CORE], "cpu");
  }
  await bench.release([upstream]);
}

/** Without the round that warms up elsewhere: each contender is a new process every time. */
async function inTurns(bench, cells) {
  const samples = Object.fromEntries(Object.keys(cells).map((name) => [name, []]));
  for (let round = 0; round < bench.options.rounds; round++) {
    const order = Object.keys(cells);
    if (round % 2 === 1) order.reverse();
    for (const name of order) samples[name].push(await cells[name]());
    bench.options.log(`peers: round ${round + 1}/${bench.options.rounds}`);
  }
  return samples;
}

/** The floor and ours, by the command line, as the others are started. */
async function cellsOfOurs(bench, folder, url) {
  const own = (config, credentials) => () =>
    startOwn(folder, { servers: { upstream: { url } }, ...config }, credentials);
  const starts = {
    "raw proxy": async () => ({
      target: await bench.target("proxy", { upstream: new URL(url).origin }),
      call: { ...OURS, dialect: "raw" },
    }),
    [CORE]: own({ log: { level: "warn" } }),
    "propylon, production": own(production(folder), { authorization: `Bearer ${KEY}` }),
  };
  const cells = {};
  for (const [name, start] of Object.entries(starts))
    cells[name] = await cellOf(bench, name, start);
  return cells;
}

/** A peer whose first answers are missing or wrong is left out, with the reason in the report. */
async function cellsOfPeers(bench, url) {
  const cells = {};
  for (const name of bench.options.beside ?? httpPeers()) {
    try {
      cells[name] = await cellOf(bench, name, () => startHttpPeer(name, url));
    } catch (error) {
      bench.absent[name] = error.message;
      await bench.dropLoad();
    }
  }
  return cells;
}

/** What measures a contender, once a trial has shown what it can be measured at. */
async function cellOf(bench, name, start) {
  const does = await run(bench, start, async ({ target, call }) => {
    const wanted = { ...call, connections: CONNECTIONS, ms: 2 * WARM_UP_MS };
    const { rps } = await bench.drive(target, wanted);
    // One that does fewer in a closed loop would only show its queue at the fixed rate.
    return { atRate: rps >= RATE, sessions: await endsSessions(bench, name, target, call) };
  });
  return () => measure(bench, start, does);
}

async function startOwn(folder, config, credentials) {
  const [port, file] = [await freePort(), join(folder, "gateway.json")];
  writeFileSync(file, JSON.stringify({ listeners: { main: { port } }, ...config }));
  return {
    target: await Process.launch([CLI, "start", file], { port }),
    call: { ...OURS, ...credentials },
  };
}

async function endsSessions(bench, name, target, call) {
  if (call.dialect !== "legacy" && call.dialect !== "raw") return false;
  try {
    await sessionCost(bench, target, call, SOME_SESSIONS_MS);
    return true;
  } catch (error) {
    bench.options.log(`peers: no figure for the sessions of ${name}: ${error.message}`);
    return false;
  }
}

function measure(bench, start, { atRate, sessions }) {
  return run(bench, start, async ({ target, call, wall, started }) => {
    const wanted = { ...call, connections: CONNECTIONS };
    await bench.drive(target, { ...wanted, ms: WARM_UP_MS });
    const { rps, cpu, rss } = await bench.drive(target, wanted);
    const { p50, p99 } = atRate ? await bench.drive(target, { ...wanted, rate: RATE }) : {};
    const session = sessions && (await sessionCost(bench, target, call, bench.options.ms));
    const some = { ...(atRate && { p50, p99 }), ...(sessions && { session }) };
    return { rps, cpu, rss, wall, started, ...some };
  });
}

/** Starts, waits for the first right answer, which is what a start is for, and stops again. */
async function run(bench, start, use) {
  const from = performance.now();
  const { target, call } = await start();
  try {
    await bench.firstAnswer(target, call);
    const wall = performance.now() - from;
    return await use({ target, call, wall, started: target.cpu() / 1_000 });
  } finally {
    await target.stop();
  }
}

/** CPU microseconds of a session that is opened and ended. */
async function sessionCost(bench, target, { path, authorization }, ms) {
  const before = target.cpu();
  const { count } = await bench.load("cycle", { port: target.port, path, authorization, ms });
  return (target.cpu() - before) / count;
}
