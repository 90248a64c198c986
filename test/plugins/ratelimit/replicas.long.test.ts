import { describe, expect, it } from "vitest";
import { definePlugin, type AnyPlugin, type GatewayError } from "../../../core/index.ts";
import { createPrincipal } from "../../../core/kit.ts";
import { setupGateway, type PluginEntry, type TestGateway } from "../../../core/testing/index.ts";
import postgres from "../../../plugins/postgres/index.ts";
import nats from "../../../plugins/nats/index.ts";
import ratelimit from "../../../plugins/ratelimit/index.ts";
import { storesOf } from "../../fixtures/stores.ts";
import { until } from "../../kit/until.ts";
import { useServer as startNats } from "../nats/kit.ts";
import { freshSchema, startServer } from "../postgres/kit.ts";
import { excess, type Ran } from "./windows.ts";
import { PATIENCE } from "../../fixtures/ci.ts";

/** How long calls are made, in milliseconds; a minute in the campaign. */
const LOAD_MS = Number(process.env["LIMIT_SECONDS"] ?? 6) * 1_000;
const RATE = 100;
const BURST = 100;

const STORES = storesOf(
  ["PostgreSQL", startServer, () => [postgres, { schema: freshSchema() }] as const],
  ["NATS", startNats, () => nats],
);

const talker = definePlugin({
  name: "talker",
  setup: (gateway) => void gateway.tool("talk", { description: "Talks.", run: () => "hello" }),
});

const ANNA = createPrincipal({ id: "anna", kind: "key", roles: new Set(["caller"] as const) });

function startFleet(
  count: number,
  store: string,
  driver: PluginEntry,
  options: object,
  worker: AnyPlugin = talker,
): Promise<TestGateway[]> {
  const start = (): Promise<TestGateway> =>
    setupGateway({
      plugins: [driver, worker, [ratelimit, { ...options }]],
      config: { store },
      client: false,
    });
  return Promise.all(Array.from({ length: count }, start));
}

/** One call; whether it ran. */
async function call({ gateway }: TestGateway, ran: Ran[]): Promise<boolean> {
  const from = performance.now();
  try {
    await gateway.call({ server: "talker", name: "talk", principal: ANNA });
    ran.push({ from, to: performance.now() });
    return true;
  } catch (error) {
    if ((error as GatewayError).code === "rate_limited") return false;
    throw error;
  }
}

/** Calls at a gateway, so many a second, until a moment. */
async function load(
  replica: TestGateway,
  perSecond: number,
  end: number,
  ran: Ran[],
): Promise<void> {
  const begin = performance.now();
  for (let made = 0; performance.now() < end;) {
    const due = Math.floor(((performance.now() - begin) * perSecond) / 1_000);
    const calls: Promise<boolean>[] = [];
    for (; made < due; made++) calls.push(call(replica, ran));
    await Promise.all(calls);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** A tool of all gateways of a test that works until it is let go. */
class Worker {
  readonly running = new Set<() => void>();
  most = 0;
  done = 0;
  readonly plugin = definePlugin({
    name: "talker",
    setup: (gateway) =>
      void gateway.tool("talk", { description: "Works.", run: () => this.#work() }),
  });

  /** Lets so many end. */
  release(count: number): void {
    for (const end of [...this.running].slice(0, count)) end();
  }

  #work(): Promise<string> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.running.delete(end);
        this.done++;
        resolve("done");
      };
      this.running.add(end);
      this.most = Math.max(this.most, this.running.size);
    });
  }
}

describe.each(STORES)(
  "three gateways of one %s",
  { timeout: PATIENCE * (LOAD_MS + 60_000) },
  (_name, start, driver) => {
    const rates = { all: { per: [], rate: RATE, burst: BURST } };

    it("let no window have more than one bucket would, and nearly as much, however uneven the load", async () => {
      const server = await start();
      const fleet = await startFleet(3, server.url, driver(), { rates, concurrency: {} });
      const ran: Ran[] = [];
      const begin = performance.now();
      const end = begin + LOAD_MS;
      const loads = [250, 25, 25].map((perSecond, at) => load(fleet[at]!, perSecond, end, ran));
      await Promise.all(loads);
      // What a busy machine did not call in time is left in the bucket.
      while (await call(fleet[0]!, ran));
      const one = BURST + (RATE * (performance.now() - begin)) / 1_000;
      expect(excess(ran, RATE, BURST)).toBeLessThanOrEqual(0);
      expect(ran.length).toBeGreaterThan(0.95 * one);
    });

    it("share buckets to the last call, small and large ones; one that ends gives back what it holds", async () => {
      const server = await start();
      const plugin = driver();
      const few = {
        small: { per: "principal", rate: 3, interval: "1h", tool: "talk" },
        large: { per: [], rate: 60, interval: "1h" },
      };
      const startOne = async (only: keyof typeof few): Promise<TestGateway> => {
        const options = { rates: { [only]: few[only] }, concurrency: {} };
        return (await startFleet(1, server.url, plugin, options))[0]!;
      };
      const ran: Ran[] = [];
      const [one, two] = [await startOne("small"), await startOne("small")];
      for (let round = 0; round < 4; round++) for (const each of [one, two]) await call(each, ran);
      expect(ran.length).toBe(3);
      expect(await call(await startOne("small"), ran)).toBe(false);
      const [first, second] = [await startOne("large"), await startOne("large")];
      expect(await call(first, ran)).toBe(true);
      await first.gateway.close();
      let more = 0;
      while (await call(second, ran)) more++;
      expect(more).toBe(59);
    });

    it("never run more at the same time than the bound, also while gateways come and go", async () => {
      const server = await start();
      const plugin = driver();
      const worker = new Worker();
      const bound = { per: [], maxRunning: 12, maxQueue: 1_000, queueTimeout: "30s" };
      const options = { concurrency: { all: bound } };
      const more = (count: number): Promise<TestGateway[]> =>
        startFleet(count, server.url, plugin, options, worker.plugin);
      const fleet = await more(3);
      const calls: Promise<unknown>[] = [];
      const begin = (count: number): void => {
        for (let made = 0; made < count; made++) calls.push(call(fleet[made % fleet.length]!, []));
      };
      // Sums up what runs at each: all slots are used, wherever the calls are.
      begin(60);
      await until(() => worker.running.size === 12);
      for (let round = 0; round < 10; round++) {
        worker.release(4);
        await until(() => worker.running.size === 12);
      }
      fleet.push(...(await more(2)));
      begin(60);
      for (let round = 0; round < 10; round++) {
        worker.release(3);
        await until(() => worker.running.size === 12);
      }
      const [leaving] = fleet.splice(1, 1);
      const closing = leaving!.gateway.close();
      const ending = setInterval(() => worker.release(6), 10);
      await Promise.allSettled(calls);
      clearInterval(ending);
      await closing;
      expect(worker.most).toBe(12);
      expect(worker.done).toBeGreaterThan(90);
    });

    it("leave a slot to a call wherever it comes, although none may wait", async () => {
      const server = await start();
      const plugin = driver();
      const one = { per: ["principal"], maxRunning: 1, maxQueue: 0 };
      const fleet = await startFleet(3, server.url, plugin, { concurrency: { one } });
      const ran: Ran[] = [];
      // One that holds the slot, and does not use it, gives it up when another is refused.
      for (let round = 0; round < 10; round++)
        await until(() => call(fleet[round % 3]!, ran), 3_000);
      expect(ran.length).toBe(10);
    });

    it("go on at their share while the store is away, and together when it is back", async () => {
      const server = await start();
      const fleet = await startFleet(3, server.url, driver(), { rates, concurrency: {} });
      const ran: Ran[] = [];
      await Promise.all(fleet.map((each) => load(each, 200, performance.now() + 1_500, ran)));
      await server.kill();
      const begin = performance.now();
      await Promise.all(fleet.map((each) => load(each, 200, performance.now() + 2_500, ran)));
      const away = ran.filter(({ from }) => from > begin).length;
      expect(away).toBeGreaterThan(60);
      expect(excess(ran, RATE, BURST)).toBeLessThanOrEqual(0);
      await server.start();
      await until(() => call(fleet[0]!, ran));
    });
  },
);
