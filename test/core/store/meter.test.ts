import fc from "fast-check";
import pino from "pino";
import type { StoreDriver } from "propylon/store";
import { afterEach, expect, it, vi } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";

afterEach(() => void vi.useRealTimers());

const BURST = 20;
const INTERVAL = 2_000;
const TTL = 1_000;

/** A gateway that takes tokens ahead and uses them. */
class Holder {
  readonly #meter;
  #held = 0;
  #until = 0;

  constructor(driver: StoreDriver) {
    const store = new GatewayStore(driver, pino({ level: "silent" })).scope("p");
    this.#meter = store.meter("m", { burst: BURST, interval: INTERVAL });
  }

  async hold(count: number): Promise<void> {
    const back = Math.min(Math.max(0, -count), this.#living);
    const left = this.#living - back;
    this.#until = Date.now() + TTL;
    const { held } = await this.#meter.hold(count < 0 ? -back : count, { left, ttl: TTL });
    this.#held = held;
  }

  use(): boolean {
    if (this.#living < 1) return false;
    this.#held--;
    return true;
  }

  get #living(): number {
    return Date.now() < this.#until ? this.#held : 0;
  }
}

const stepArb = fc.oneof(
  { weight: 3, arbitrary: fc.record({ wait: fc.integer({ min: 0, max: 700 }) }) },
  {
    weight: 6,
    arbitrary: fc.record({ holder: fc.nat(2), hold: fc.integer({ min: -5, max: 10 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ holder: fc.nat(2), use: fc.integer({ min: 1, max: 12 }) }),
  },
  { weight: 1, arbitrary: fc.record({ dies: fc.nat(2) }) },
);

/** By how much the worst time had more uses than it may. */
function excess(uses: readonly number[]): number {
  const all = uses.flatMap((from, first) =>
    uses.slice(first).map((to, more) => more + 1 - BURST - ((to - from) * BURST) / INTERVAL),
  );
  return Math.max(0, ...all);
}

it("whatever gateways hold, use, give back or take to the grave, no time sees more used than it may", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  let used = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(stepArb, { minLength: 40, maxLength: 80 }), async (steps) => {
      const driver = Object.assign(new MemoryDriver(), { shared: true });
      const holders = [0, 1, 2].map(() => new Holder(driver));
      const uses: number[] = [];
      for (const step of steps) {
        if ("wait" in step) vi.advanceTimersByTime(step.wait);
        else if ("dies" in step) holders[step.dies] = new Holder(driver);
        else if ("hold" in step) await holders[step.holder]!.hold(step.hold);
        else
          for (let left = step.use; left > 0 && holders[step.holder]!.use(); left--)
            uses.push(Date.now());
      }
      expect(excess(uses)).toBeLessThanOrEqual(0);
      used += uses.length;
    }),
    { numRuns: 300 },
  );
  expect(used).toBeGreaterThan(2_000);
});

it("what is given back is there for others, what a dead one held only as the bucket fills", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  const driver = Object.assign(new MemoryDriver(), { shared: true });
  const meters = [0, 1].map(() =>
    new GatewayStore(driver, pino({ level: "silent" }))
      .scope("p")
      .meter("m", { burst: BURST, interval: INTERVAL }),
  );
  const [one, two] = [meters[0]!, meters[1]!];
  expect(await one.hold(15, { left: 0, ttl: TTL })).toMatchObject({ held: 15, tokens: 5 });
  expect(await two.hold(10, { left: 0, ttl: TTL })).toMatchObject({ held: 5, retryAfter: 100 });
  expect(await one.hold(-10, { left: 5, ttl: TTL })).toMatchObject({ held: 5, tokens: 10 });
  expect(await two.hold(10, { left: 5, ttl: TTL })).toMatchObject({ held: 15, tokens: 0 });
  // It does not fill above what all hold.
  vi.advanceTimersByTime(500);
  expect(await two.hold(5, { left: 15, ttl: 10_000 })).toMatchObject({ held: 15, tokens: 0 });
  // The first one shows no life any more, and may have used all at its end: what it held comes back from then on, as the bucket fills.
  vi.advanceTimersByTime(500);
  expect(await two.hold(0, { left: 15, ttl: 10_000 })).toMatchObject({ held: 15, tokens: 0 });
  vi.advanceTimersByTime(500);
  expect(await two.hold(0, { left: 15, ttl: 10_000 })).toMatchObject({ held: 15, tokens: 5 });
  expect(await one.hold(0, { left: 5, ttl: TTL })).toMatchObject({ held: 0 });
});

it("a dead one may have used what it held at its very end", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  const driver = Object.assign(new MemoryDriver(), { shared: true });
  const [one, two] = [new Holder(driver), new Holder(driver)];
  await one.hold(5);
  vi.advanceTimersByTime(TTL - 1);
  expect([1, 2, 3, 4, 5, 6].filter(() => one.use())).toHaveLength(5);
  vi.advanceTimersByTime(1);
  await two.hold(BURST);
  let used = 0;
  while (two.use()) used++;
  expect(used).toBe(BURST - 5);
});
