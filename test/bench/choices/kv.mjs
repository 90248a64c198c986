import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@nats-io/transport-node";
import { openNats } from "../../../dist/modules/plugins/nats/open.js";
import { optionsSchema } from "../../../dist/modules/plugins/nats/options.js";
import { startNats } from "../../fixtures/nats/nats.mjs";
import { range } from "./turns.mjs";

const ROUNDS = 7;
const OPERATIONS = 1_000;
const AT_ONCE = 32;
const VALUE = "x".repeat(400);

/** What each round does, and how often. */
const STEPS = {
  create: (store, key) => store.create(key, VALUE),
  update: (store, key) => store.update(key, VALUE),
  get: (store, key) => store.get(key),
  list: undefined,
  delete: (store, key) => store.delete(key),
};

/**
 * Values over JetStream: the store's driver beside `@nats-io/kv`, which is no dependency. KV_FOLDER names a folder outside the repository
 * where `npm install @nats-io/kv @nats-io/jetstream @nats-io/transport-node` was done.
 */
export async function kv() {
  const folder = process.env.KV_FOLDER;
  if (folder === undefined) return ["set KV_FOLDER to a folder that has @nats-io/kv"];
  const server = await startNats();
  const stores = { ours: await openOurs(server.url), kv: await openTheirs(server.url, folder) };
  try {
    const lines = await measure(stores);
    for (const [name, store] of Object.entries(stores)) {
      for (const megabytes of [0.5, 2, 8])
        lines.push(`${name}, a value of ${megabytes} MB: ${await putLarge(store, megabytes)}`);
      lines.push(`${name}, a value for 1 s: ${await expire(store)}`);
      for (const key of ["a b", "über", "a//b", "a.b", "a*"])
        lines.push(`${name}, the key "${key}": ${await tryKey(store, key)}`);
    }
    return [...lines, `streams: ${(await streamsOf(server.url)).join(", ")}`];
  } finally {
    for (const store of Object.values(stores)) await store.close();
    await server.stop();
  }
}

async function openOurs(url) {
  const options = optionsSchema.parse({ prefix: "ours" });
  const driver = await openNats(url, { folder: ".", options, log: { warn() {}, info() {}, error() {} } }); // prettier-ignore
  const revisions = new Map();
  const put = async (key, value, rev) => revisions.set(key, await driver.put("bench", key, value, { rev })); // prettier-ignore
  return {
    create: (key, value) => put(key, value, 0),
    createFor: (key, value, ms) =>
      driver.put("bench", key, value, { rev: 0, until: Date.now() + ms }),
    update: (key, value) => put(key, value, revisions.get(key)),
    get: async (key) => (await driver.get("bench", key))?.value,
    delete: (key) => driver.delete("bench", key, revisions.get(key)),
    async list() {
      let [count, after] = [0, ""];
      for (let page; page?.length !== 0; count += page.length, after = page.at(-1)?.key ?? after)
        page = await driver.list("bench", { prefix: "", after, limit: 100 });
      return count;
    },
    close: () => driver.close(),
  };
}

async function openTheirs(url, folder) {
  const load = createRequire(join(folder, "package.json"));
  const connection = await load("@nats-io/transport-node").connect({ servers: url });
  const bucket = await new (load("@nats-io/kv").Kvm)(connection).create("bench", { history: 1 });
  const revisions = new Map();
  return {
    create: async (key, value) => revisions.set(key, await bucket.create(key, value)),
    createFor: (key, value, ms) => bucket.create(key, value, `${ms / 1_000}s`),
    update: async (key, value) => revisions.set(key, await bucket.update(key, value, revisions.get(key))), // prettier-ignore
    get: async (key) => (await bucket.get(key))?.string(),
    delete: (key) => bucket.delete(key, { previousSeq: revisions.get(key) }),
    /** In order, a page at a time, as the store's users read lists. */
    async list() {
      const keys = [];
      for await (const key of await bucket.keys()) keys.push(key);
      keys.sort((one, other) => (one < other ? -1 : 1));
      let count = 0;
      for (let at = 0; at < keys.length; at += AT_ONCE)
        count += (await Promise.all(keys.slice(at, at + AT_ONCE).map((key) => bucket.get(key))))
          .length;
      return count;
    },
    close: () => connection.close(),
  };
}

async function measure(stores) {
  const costs = {};
  for (let round = -1; round < ROUNDS; round++)
    for (const name of round % 2 === 0 ? Object.keys(stores) : Object.keys(stores).toReversed())
      for (const [step, run] of Object.entries(STEPS)) {
        const cost = await costOf(stores[name], run, `round-${round + 1}`);
        // The first round is for the compiler.
        if (round >= 0) ((costs[step] ??= {})[name] ??= []).push(cost);
      }
  return Object.entries(costs).map(([step, { ours, kv: theirs }]) => {
    const [cpu, wall] = ["cpu", "wall"].map((what) => {
      const ratios = ours.map((cost, at) => cost[what] / theirs[at][what]);
      const middle = (list) => list.map((cost) => cost[what]).toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)]; // prettier-ignore
      return `${what} ${middle(ours).toFixed(0)} and ${middle(theirs).toFixed(0)} us, ours ${range(ratios)} times kv's`;
    });
    return `${step}: ${cpu}; ${wall}`;
  });
}

/** Microseconds of this process and of the clock, per value. */
async function costOf(store, run, round) {
  const [cpu, wall] = [process.cpuUsage(), performance.now()];
  if (run === undefined) {
    const count = await store.list();
    if (count !== OPERATIONS) throw new Error(`${count} values in place of ${OPERATIONS}`);
  } else
    for (let at = 0; at < OPERATIONS; at += AT_ONCE) {
      const count = Math.min(AT_ONCE, OPERATIONS - at);
      await Promise.all(
        Array.from({ length: count }, (_, index) => run(store, `${round}/key-${at + index}`)),
      );
    }
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: (user + system) / OPERATIONS, wall: ((performance.now() - wall) * 1_000) / OPERATIONS }; // prettier-ignore
}

async function putLarge(store, megabytes) {
  const value = "y".repeat(megabytes * 1_000_000);
  try {
    await store.create("large", value);
    const same = (await store.get("large")) === value;
    await store.delete("large");
    return same ? "read as it was written" : "another value is read";
  } catch (error) {
    return error.message;
  }
}

async function expire(store) {
  try {
    await store.createFor("short", VALUE, 1_000);
  } catch (error) {
    return error.message;
  }
  await sleep(3_000);
  return (await store.get("short")) === undefined ? "gone in time" : "is still there after 3 s";
}

async function tryKey(store, key) {
  try {
    await store.create(key, VALUE);
    return (await store.get(key)) === VALUE ? "works" : "another value is read";
  } catch (error) {
    return error.message;
  }
}

async function streamsOf(url) {
  const connection = await connect({ servers: url });
  const { jetstreamManager } = await import("@nats-io/jetstream");
  const manager = await jetstreamManager(connection);
  const names = [];
  for await (const { config } of manager.streams.list()) names.push(config.name);
  await connection.close();
  return names;
}
