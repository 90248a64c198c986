/** node remember.mjs bytes|objects: remembers calls under the garbage that calls make, and prints what that cost. */
import { PerformanceObserver } from "node:perf_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { Ring } from "../../../dist/modules/plugins/history/ring.js";

const CALLS = 300_000;
const MAX_ENTRIES = 10_000;
const IN_FLIGHT = 64;
/** What a request leaves behind besides its call: parsed JSON, headers, closures. */
const REQUEST = JSON.stringify(
  Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`header-${at}`, { value: `${at}` }])),
);
const ANSWER = Buffer.from(JSON.stringify({ content: [{ type: "text", text: "x".repeat(350) }] }));

let collecting = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collecting += duration;
}).observe({ entryTypes: ["gc"] });

const remember = { bytes: inBytes, objects: inObjects }[process.argv[2]]();
const before = process.cpuUsage();
for (let call = 0; call < CALLS; call += IN_FLIGHT) {
  const running = Array.from({ length: IN_FLIGHT }, (_, at) => callOf(call + at));
  await turn();
  for (const each of running) remember(each);
}
await turn();
const { user, system } = process.cpuUsage(before);
process.stdout.write(
  JSON.stringify({
    cpu: (user + system) / CALLS,
    gc: (collecting * 100_000) / (user + system),
    memory: process.memoryUsage.rss() / 1_048_576,
  }),
);

/** What history knows of a call, once its arguments are bounded and redacted, which is text. */
function callOf(number) {
  const request = JSON.parse(REQUEST);
  return {
    id: `call-${number}`,
    at: Date.now(),
    method: "tools/call",
    server: `server-${number % 10}`,
    name: `tool-${number % 100}`,
    principal: "key:ci",
    source: "mcp",
    endpoint: "mcp",
    duration: number % 50,
    outcome: "ok",
    code: null,
    args: `{"query":"${request["header-1"].value}-${number}","limit":10}`,
    answer: Buffer.from(ANSWER),
  };
}

/** As the plugin does: the head as text, the bytes of the answer as they came. */
function inBytes() {
  const ring = new Ring({ entries: MAX_ENTRIES, memory: 16 * 1_048_576 });
  return ({ answer, args, ...head }) => {
    const copied = { copyRaw: (target, at, length) => answer.copy(target, at, 0, length) };
    ring.push(`${JSON.stringify(head)}${args}`, copied, answer.length);
  };
}

/** A list in a circle, which every library of bounded lists comes to. */
function inObjects() {
  const kept = Array.from({ length: MAX_ENTRIES });
  let next = 0;
  return (call) => void (kept[next++ % MAX_ENTRIES] = call);
}
