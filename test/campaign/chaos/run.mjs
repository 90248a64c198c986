/**
 * npm run campaign -- chaos
 *
 * Seven servers of every kind, one of them hostile, 40 clients of both eras and 8 principals, while servers are killed, stopped,
 * removed and reloaded. Nothing may be wrong, missing, doubled or misdirected, and the process must hold as much behind it as
 * before. CHAOS_MINUTES (15), CHAOS_CLIENTS (40) and CHAOS_SEED change the run.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ChaosClient } from "./client.mjs";
import { KEYS, startChaosGateway } from "./gateway.mjs";
import { Ledger } from "./ledger.mjs";
import { Monkey } from "./monkey.mjs";
import { createRandom } from "./random.mjs";
import { SERVERS } from "./servers.mjs";

const minutes = Number(process.env.CHAOS_MINUTES ?? 15);
const clients = Number(process.env.CHAOS_CLIENTS ?? 40);
const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000_000);
const WARM_UP_MS = 30_000;
/** Servers that the last reloads replaced end their calls first, for at most `timeouts.drain` (30 s). */
const DRAIN_MS = 40_000;

const ledger = new Ledger();
/** `count` clients, spread over eras and principals, for `duration` ms; the monkey only where `faults`. */
async function storm(duration, faults, offset) {
  const end = performance.now() + duration;
  const until = () => performance.now() > end;
  const lives = Array.from({ length: clients }, (_, index) =>
    new ChaosClient({
      id: `c${offset + index}`,
      url: new URL(gateway.url),
      key: KEYS[index % KEYS.length],
      era: index % 2 === 0 ? "legacy" : "modern",
      servers: SERVERS,
      random: createRandom(seed + offset + index),
      ledger,
    }).live(until),
  );
  const monkey = new Monkey({ gateway, servers: SERVERS, random: createRandom(seed), ledger });
  await Promise.all([...lives, ...(faults ? [monkey.live(until)] : [])]);
}

/**
 * What the process holds once nothing is under way: the least of some seconds, each behind a collection of garbage.
 * Connections of principals of their own would end after idle minutes; connecting anew ends them now.
 */
async function settled() {
  await sleep(DRAIN_MS);
  await gateway.post("/_meta/reinit");
  const seen = [];
  for (let second = 0; second < 30; second++) {
    seen.push(await gateway.measure());
    await sleep(1_000);
  }
  const least = Object.keys(seen[0]).map((key) => [
    key,
    Math.min(...seen.map((each) => each[key])),
  ]);
  const commands = gateway.children().map(({ pid, command }) => `${pid} ${command}`);
  return {
    ...Object.fromEntries(least),
    kinds: gateway.descriptors(),
    commands: commands.join("; ").replaceAll("\0", " "),
  };
}

async function measured() {
  await storm(WARM_UP_MS, false, 0);
  const before = await settled();
  const from = performance.now();
  const progress = setInterval(() => {
    const { calls, "right answers": right, findings = 0 } = ledger.counts;
    const second = Math.round((performance.now() - from) / 1_000);
    console.log(`${second} s: ${calls} calls, ${right} right answers, ${findings} findings`);
  }, 60_000);
  await storm(minutes * 60_000, true, 1_000);
  clearInterval(progress);
  return { before, after: await settled() };
}

/** @type {Awaited<ReturnType<typeof startChaosGateway>>} */
let gateway;
let figures;
try {
  for (const server of SERVERS) await server.start?.();
  gateway = await startChaosGateway(SERVERS);
  figures = await measured();
} finally {
  await gateway?.close();
  for (const server of SERVERS) await server.stop?.();
}
const { before, after } = figures;

if (after.descriptors > before.descriptors + 10)
  ledger.finding(`descriptors: ${before.descriptors}, then ${after.descriptors}`);
if (after.children !== before.children)
  ledger.finding(`children: ${before.children}, then ${after.children}: ${after.commands}`);
if (after.heap > before.heap * 1.25 + 10)
  ledger.finding(`heap: ${before.heap.toFixed(1)} MiB, then ${after.heap.toFixed(1)} MiB`);

console.log(
  JSON.stringify(
    { seed, minutes, before, after, counts: ledger.counts, explained: ledger.explained },
    null,
    2,
  ),
);
for (const finding of ledger.findings) console.log(`FINDING ${finding}`);
process.exit(ledger.counts.findings === undefined ? 0 : 1);
