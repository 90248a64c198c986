/**
 * Answers `{ turns: "start" }` and `{ turns: "read" }` over IPC: the longest turns of the event loop in between, in milliseconds, each
 * with the functions that ran in it, and the longest garbage collections. Profiling makes every turn a little longer.
 */
import { constants, PerformanceObserver } from "node:perf_hooks";

/** Turns that are shown, and functions of each. */
const SHOWN = { turns: 5, functions: 4 };
/** From here on a turn is noted, in milliseconds. */
const LONG_MS = 4;
/** Between two samples of the profile, in microseconds. */
const INTERVAL_US = 250;
/** Folders above these say nothing. */
const OWN = /^.*\/((?:core|plugins|node_modules)\/.*)$/;

const PLUGIN = /\/plugins\/([^/]+)\//;

const now = () => Number(process.hrtime.bigint() / 1_000n);
const KINDS = Object.fromEntries(
  Object.entries(constants)
    .filter(([name]) => name.startsWith("NODE_PERFORMANCE_GC_M"))
    .map(([name, kind]) => [kind, name.slice("NODE_PERFORMANCE_GC_".length).toLowerCase()]),
);

let session;
let timer;
let late = [];
let collections = [];
const observer = new PerformanceObserver((list) => {
  for (const { detail, duration } of list.getEntries())
    collections.push({ kind: KINDS[detail.kind] ?? "other", ms: duration });
});

async function start() {
  [late, collections] = [[], []];
  // Not before it is asked for: the start of a gateway and its memory are measured, too.
  const { Session } = await import("node:inspector/promises");
  session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: INTERVAL_US });
  observer.observe({ entryTypes: ["gc"] });
  await session.post("Profiler.start");
  let last = now();
  timer = setInterval(() => {
    const at = now();
    if (at - last > LONG_MS * 1_000) late.push({ from: last, to: at });
    last = at;
  }, 1);
}

async function read() {
  clearInterval(timer);
  observer.disconnect();
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  const longest = late.toSorted((a, b) => b.to - b.from - (a.to - a.from)).slice(0, SHOWN.turns);
  return {
    long: late.length,
    turns: longest.map((turn) => ({
      ms: (turn.to - turn.from) / 1_000,
      ran: functionsIn(profile, turn),
    })),
    plugins: heldByPlugins(profile),
    collections: longestOf(collections),
  };
}

/** The functions that most samples of a turn show on top, with their share in milliseconds. */
function functionsIn({ nodes, samples, timeDeltas, startTime }, { from, to }) {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const spent = new Map();
  let at = startTime;
  for (const [index, id] of samples.entries()) {
    at += timeDeltas[index];
    if (at > from && at <= to)
      spent.set(names.get(id), (spent.get(names.get(id)) ?? 0) + timeDeltas[index]);
  }
  return [...spent]
    .toSorted((a, b) => b[1] - a[1])
    .slice(0, SHOWN.functions)
    .map(([name, us]) => `${name} ${(us / 1_000).toFixed(1)}`);
}

/** The longest that each plugin had in one long turn, in milliseconds; a function counts for the plugin that called it last. */
function heldByPlugins({ nodes, samples, timeDeltas, startTime }) {
  const owners = ownersOf(nodes);
  const most = {};
  let at = startTime;
  let turn = 0;
  let spent = {};
  for (const [index, id] of samples.entries()) {
    at += timeDeltas[index];
    while (turn < late.length && at > late[turn].to) {
      turn += 1;
      spent = {};
    }
    if (turn === late.length) break;
    const owner = owners.get(id);
    if (owner === undefined || at <= late[turn].from) continue;
    spent[owner] = (spent[owner] ?? 0) + timeDeltas[index] / 1_000;
    most[owner] = Math.max(most[owner] ?? 0, spent[owner]);
  }
  return most;
}

/** Each node of a profile with the plugin that it runs for: its own, or that of its nearest caller. */
function ownersOf(nodes) {
  const owners = new Map();
  // A node stands before its children.
  for (const { id, callFrame, children = [] } of nodes) {
    const owner = PLUGIN.exec(callFrame.url)?.[1] ?? owners.get(id);
    owners.set(id, owner);
    for (const child of children) owners.set(child, owner);
  }
  return owners;
}

function nameOf({ functionName, url, lineNumber }) {
  const file = OWN.exec(url)?.[1] ?? url;
  return file === "" ? functionName : `${functionName || "(top)"} ${file}:${lineNumber + 1}`;
}

function longestOf(all) {
  const longest = {};
  for (const { kind, ms } of all) {
    const { count = 0, max = 0 } = longest[kind] ?? {};
    longest[kind] = { count: count + 1, max: Math.max(max, ms) };
  }
  return longest;
}

process.on("message", ({ turns }) => {
  if (turns === "start") void start().then(() => process.send({}));
  if (turns === "read") void read().then((found) => process.send(found));
});
