import { PATIENCE } from "../fixtures/ci.ts";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { storesOf } from "../fixtures/stores.ts";
import { until } from "../kit/until.ts";
import { excess, type Ran } from "../plugins/ratelimit/windows.ts";
import { useServer as startNats } from "../plugins/nats/kit.ts";
import { startServer as startPostgres } from "../plugins/postgres/kit.ts";
import { startFleet, type Program } from "./fleet.ts";

/** A campaign takes a minute. */
const SECONDS = Number(process.env["LIMIT_KILL_SECONDS"] ?? 7);
/** Part of what one bucket would let through. */
const SHARE = 0.9;
/** Pauses of the load in ms. */
const PAUSES = { refused: 5, held: SECONDS < 60 ? 40 : 20 };
const KILL_MS = 5_000;
const RATE = 100;
const BURST = 100;
const BOUND = 12;

const PLUGIN = `
import { definePlugin } from "propylon";
export default definePlugin({
  name: "tools",
  setup(gateway) {
    const input = { type: "object", properties: { at: { type: "string" } } };
    gateway.tool("talk", { description: "Talks.", input, run: () => "hello" });
    gateway.tool("work", { description: "Works as long as it is held.", input, run: async ({ at }) => (await fetch(at)).text() });
  },
});
`;

/** Calls a tool over HTTP; whether it ran. A gateway that is killed over it did not say so. */
async function call({ origin }: Program, tool: string, input: object = {}): Promise<boolean> {
  const response = await fetch(`${origin}/tools/${tool}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(input),
  }).catch(() => undefined);
  const { ok, status } = response ?? { ok: false, status: 0 };
  await response?.text().catch(() => "");
  if (!ok && status !== 0 && status !== 429 && status !== 503)
    throw new Error(`${tool}: ${status}`);
  return ok;
}

/** Kills one after the other, and starts it again, for a while and at least twice. @returns how many were killed */
async function killInTurn(fleet: readonly Program[], end: number): Promise<number> {
  for (let kills = 0; ; kills++) {
    if (kills > 1 && performance.now() > end) return kills;
    await setTimeout(KILL_MS);
    const program = fleet[kills % fleet.length]!;
    await program.kill();
    await program.start();
  }
}

/** One of the fleet, or another where that is away, as behind a balancer. */
function pick(fleet: readonly Program[], at: number): Program {
  return [fleet[at]!, ...fleet].find(({ isUp }) => isUp)!;
}

/** What is at work, as seen from outside: a request for each call, which ends with its gateway. */
async function startWatch() {
  const open = new Set<() => void>();
  const watch = { open, most: 0, done: 0, url: "" };
  const server = createServer((req, res) => {
    const end = (): void => void res.end("done");
    open.add(end);
    watch.most = Math.max(watch.most, open.size);
    res.once("close", () => {
      open.delete(end);
      if (res.writableEnded) watch.done++;
    });
    req.resume();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  watch.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return watch;
}

describe.each(storesOf(["NATS", startNats], ["PostgreSQL", startPostgres]))(
  "three gateways of one %s, one of which is killed each 5 s",
  { timeout: PATIENCE * (SECONDS * 1_000 + 120_000) },
  (_name, open) => {
    // In a short run as in ratelimit/replicas.long.test.ts: what a window has is told by a long one.
    it.each(SECONDS < 60 ? [] : [RATE])(
      "let no window have more than one bucket of %i would, and most of it",
      async () => {
        const { url } = await open();
        const rates = { all: { per: [], rate: RATE, burst: BURST, tool: "talk" } };
        const plugins = { openapi: {}, ratelimit: { rates, concurrency: {} } };
        const fleet = await startFleet(PLUGIN, [url, url, url], plugins);
        const ran: Ran[] = [];
        const begin = performance.now();
        let isOver = false;
        onTestFinished(() => void (isOver = true));
        const load = async (at: number): Promise<void> => {
          while (!isOver) {
            const from = performance.now();
            if (await call(pick(fleet, at), "talk")) ran.push({ from, to: performance.now() });
            else await setTimeout(PAUSES.refused);
          }
        };
        // 10:1:1, and a call that is refused is not made again at once.
        const loads = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2].map(load);
        const kills = await killInTurn(fleet, begin + SECONDS * 1_000);
        isOver = true;
        await Promise.all(loads);
        const one = BURST + (RATE * (performance.now() - begin)) / 1_000;
        process.stdout.write(
          `${ran.length} of ${Math.round(one)} calls, ${kills} kills, ${excess(ran, RATE, BURST)} above\n`,
        );
        expect(excess(ran, RATE, BURST)).toBeLessThanOrEqual(0);
        expect(ran.length).toBeGreaterThan(SHARE * one);
      },
    );

    it("never run more at the same time than the bound", async () => {
      const { url } = await open();
      const bound = { per: [], maxRunning: BOUND, maxQueue: 100, queueTimeout: "30s" };
      const plugins = { openapi: {}, ratelimit: { concurrency: { all: bound } } };
      const fleet = await startFleet(PLUGIN, [url, url, url], plugins);
      const watch = await startWatch();
      const end = performance.now() + SECONDS * 1_000;
      let isOver = false;
      onTestFinished(() => void (isOver = true));
      const load = async (at: number): Promise<void> => {
        while (!isOver)
          if (!(await call(pick(fleet, at), "work", { at: watch.url }))) await setTimeout(20);
      };
      const loads = Array.from({ length: 30 }, (_, at) => load(at % 3));
      await until(() => watch.open.size === BOUND, 30_000);
      const letting = setInterval(
        () => [...watch.open].slice(0, 3).forEach((each) => each()),
        PAUSES.held,
      );
      onTestFinished(() => clearInterval(letting));
      const kills = await killInTurn(fleet, end);
      isOver = true;
      // What is left of the calls ends.
      clearInterval(letting);
      const ending = setInterval(() => [...watch.open].forEach((each) => each()), 20);
      await Promise.all(loads);
      clearInterval(ending);
      process.stdout.write(
        `${watch.done} calls, at most ${watch.most} at a time, ${kills} kills\n`,
      );
      expect(watch.most).toBe(BOUND);
      expect(watch.done).toBeGreaterThan(20 * SECONDS);
    });
  },
);
