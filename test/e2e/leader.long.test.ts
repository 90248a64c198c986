import { PATIENCE } from "../fixtures/ci.ts";
import { setTimeout } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectClient } from "../../core/testing/index.ts";
import { FaultProxy } from "../fixtures/faults/proxy.ts";
import { storesOf } from "../fixtures/stores.ts";
import { until } from "../kit/until.ts";
import { useServer as startNats } from "../plugins/nats/kit.ts";
import { startServer as startPostgres } from "../plugins/postgres/kit.ts";
import { startFleet, type Program } from "./fleet.ts";

/** A campaign does 50. */
const ROUNDS = Number(process.env["LEADER_ROUNDS"] ?? 1);
/** How long after the end of a lease another one may begin: that of a campaign, which has the machine for itself, is exact. */
const SLACK_MS = ROUNDS > 2 ? 1_000 : PATIENCE * 1_000;
const TTL_MS = 1_500;

/**
 * Work for one gateway at a time. Every write is over one revision and bears the fence, and each change of the writer stays in the
 * value: what it says is all that ever took effect.
 */
const PLUGIN = `
import { setTimeout } from "node:timers/promises";
import { definePlugin } from "propylon";
import { Store } from "propylon/store";
export default definePlugin({
  name: "leader",
  inject: { store: Store },
  setup(gateway) {
    const { store } = gateway.services;
    const kv = store.kv("work");
    const end = new AbortController();
    const about = { holds: false, workedAt: 0, refused: 0 };
    gateway.tool("echo", { description: "Says it.", input: { type: "object" }, run: ({ text }) => text });
    gateway.route("GET", "/holds", { access: "public", mutates: false }, () => about);
    gateway.route("GET", "/work", { access: "public", mutates: false }, async () => ({
      own: store.replica,
      replicas: (await store.replicas()).length,
      ...(await kv.get("counter"))?.value,
    }));
    async function step({ fence }) {
      const there = await kv.get("counter");
      const { count = 0, writers = [] } = there?.value ?? {};
      const last = writers.at(-1);
      if ((last?.fence ?? 0) > fence) return void about.refused++;
      const isSame = last?.fence === fence;
      const next = isSame ? writers : [...writers, { fence, by: store.replica, from: count + 1, at: Date.now() }];
      const rev = await kv.update("counter", { count: count + 1, writers: next }, there?.rev ?? 0);
      if (rev === undefined) about.refused++;
    }
    // Work that needs no store goes on while the store does not answer.
    async function note(lease) {
      while (lease.isHeld) {
        about.workedAt = Date.now();
        await setTimeout(5);
      }
    }
    async function lead() {
      while (!end.signal.aborted) {
        const lease = await store.lease("leader", { ttl: ${TTL_MS}, signal: end.signal });
        about.holds = true;
        lease.signal.addEventListener("abort", () => (about.holds = false));
        void note(lease);
        while (lease.isHeld && !end.signal.aborted) {
          await step(lease).catch(() => {});
          await setTimeout(5);
        }
        about.holds = false;
        await lease.release();
      }
    }
    gateway.onStart(() => {
      void lead().catch(() => {});
      return () => end.abort();
    });
  },
});
`;

/** What the value says. */
interface Work {
  readonly own: string;
  readonly replicas: number;
  readonly count: number;
  readonly writers: readonly {
    readonly fence: number;
    readonly by: string;
    readonly from: number;
    /** When it began, in milliseconds since 1970. */
    readonly at: number;
  }[];
}

async function ask<T>({ origin }: Program, path: string): Promise<T> {
  const response = await fetch(`${origin}${path}`);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return (await response.json()) as T;
}

const read = (program: Program): Promise<Work> => ask<Work>(program, "/work");

/** What a gateway says of itself, without its store. */
interface About {
  readonly holds: boolean;
  /** When it worked last, in milliseconds since 1970. */
  readonly workedAt: number;
  /** Writes of it that took no effect. */
  readonly refused: number;
}

const about = (program: Program): Promise<About> => ask<About>(program, "/holds");
/** Once it knows that it holds nothing. */
const untilLost = (program: Program): Promise<About> =>
  until(async () => {
    const said = await about(program);
    return !said.holds && said;
  }, 30_000);

/** Three gateways, each with a way of its own to the store. */
async function start(store: { readonly url: string; readonly port: number }) {
  const proxies: FaultProxy[] = [];
  for (let each = 0; each < 3; each++) proxies.push(await FaultProxy.start(store.port));
  onTestFinished(() => void Promise.all(proxies.map((proxy) => proxy.close())));
  const stores = proxies.map(({ port }) => store.url.replace(`:${store.port}`, `:${port}`));
  const fleet = await startFleet(PLUGIN, stores);
  return { fleet, proxies };
}

/** The gateway that writes, once it does. */
async function findLeader(fleet: readonly Program[]): Promise<{ leader: Program; work: Work }> {
  return until(async () => {
    const all = await Promise.all(fleet.map(read));
    const at = all.findIndex(({ own, writers }) => own === writers?.at(-1)?.by);
    return at === -1 ? undefined : { leader: fleet[at]!, work: all[at]! };
  }, 30_000);
}

/** How long it takes until somebody else writes, in milliseconds. */
async function untilNext(observer: Program, { writers }: Work): Promise<number> {
  const from = performance.now();
  const { fence } = writers.at(-1)!;
  await until(async () => (await read(observer)).writers.at(-1)!.fence > fence, 30_000);
  return performance.now() - from;
}

/** Each writer began after the one before it had written for the last time. */
function expectInOrder({ count, writers }: Work): void {
  const fences = writers.map(({ fence }) => fence);
  expect(fences).toEqual([...new Set(fences)].toSorted((left, right) => left - right));
  const begins = writers.map(({ from }) => from);
  expect(begins).toEqual([...new Set(begins)].toSorted((left, right) => left - right));
  expect(count).toBeGreaterThanOrEqual(begins.at(-1)!);
}

function timesOf(times: readonly number[]): string {
  const sorted = times.toSorted((left, right) => left - right).map(Math.round);
  return `${sorted[sorted.length >> 1]} ms (median), ${sorted.at(-1)} ms at most`;
}

/** For the page with the figures. */
async function tell(fleet: readonly Program[], times: readonly number[]): Promise<void> {
  const { writers, count } = await read(fleet[0]!);
  const all = await Promise.all(fleet.map(about));
  const refused = all.reduce((sum, each) => sum + each.refused, 0);
  const leaders = new Set(writers.map(({ by }) => by)).size;
  process.stdout.write(
    `${times.length} rounds: went on after ${timesOf(times)}; ${count} writes by ${leaders} gateways in ${writers.length} turns, each with a higher fence; ${refused} late writes refused\n`,
  );
}

describe.each(storesOf(["PostgreSQL", startPostgres], ["NATS", startNats]))(
  "the holder of a lease of %s",
  { timeout: PATIENCE * (120_000 + ROUNDS * 30_000) },
  (_name, open) => {
    it("is stopped for three times its ttl: another one goes on, and what it still writes is refused", async () => {
      const { fleet } = await start(await open());
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const { leader, work } = await findLeader(fleet);
        const observer = fleet.find((program) => program !== leader)!;
        leader.send("SIGSTOP");
        const from = performance.now();
        times.push(await untilNext(observer, work));
        await setTimeout(Math.max(0, 3 * TTL_MS - (performance.now() - from)));
        leader.send("SIGCONT");
        await untilLost(leader);
        const { count } = await read(leader);
        await until(async () => (await read(leader)).count > count + 20, 30_000);
        expectInOrder(await read(leader));
      }
      await tell(fleet, times);
      expect(Math.max(...times)).toBeLessThan(TTL_MS + SLACK_MS);
    });

    it("is cut off from its store: it stops in time, serves on, and is one of them again when it is back", async () => {
      const { fleet, proxies } = await start(await open());
      const clients = new Map<Program, Client>();
      for (const program of fleet) clients.set(program, await connectClient(program.url));
      onTestFinished(() => void Promise.all([...clients.values()].map((each) => each.close())));
      const times: number[] = [];
      const lost: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const { leader, work } = await findLeader(fleet);
        const proxy = proxies[fleet.indexOf(leader)]!;
        const observer = fleet.find((program) => program !== leader)!;
        proxy.partition();
        const from = performance.now();
        const cutAt = Date.now();
        const next = untilNext(observer, work);
        const { workedAt } = await untilLost(leader);
        lost.push(workedAt - cutAt);
        times.push(await next);
        // It stopped before another one began.
        const later = (await read(observer)).writers;
        const { at } = later.find(({ fence }) => fence > work.writers.at(-1)!.fence)!;
        expect(workedAt).toBeLessThanOrEqual(at);
        expect(workedAt - cutAt).toBeLessThanOrEqual(TTL_MS);
        expect((await fetch(`${leader.origin}/readyz`)).status).toBe(200);
        const echo = { name: "echo", arguments: { text: "on" } };
        const { content } = await clients.get(leader)!.callTool(echo);
        expect(content).toEqual([{ type: "text", text: "on" }]);
        await setTimeout(Math.max(0, 3 * TTL_MS - (performance.now() - from)));
        proxy.heal();
        const { count } = await until(() => read(leader).catch(() => undefined), 30_000);
        await until(async () => {
          const now = await read(leader);
          return now.count > count + 20 && now.replicas === 3;
        }, 30_000);
        expectInOrder(await read(leader));
      }
      await tell(fleet, times);
      process.stdout.write(`worked until ${timesOf(lost)} after the cut\n`);
      expect(Math.max(...times)).toBeLessThan(TTL_MS + SLACK_MS);
    });
  },
);
