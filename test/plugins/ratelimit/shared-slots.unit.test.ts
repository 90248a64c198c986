import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Meter } from "propylon/store";
import { SharedSlots } from "../../../plugins/ratelimit/shared-slots.ts";
import { Slots } from "../../../plugins/ratelimit/slots.ts";
import { startClock } from "../../fixtures/clock.ts";

/** A bound of two that is shared through a meter of which `left` says what nobody holds. */
function shareTwo() {
  const store = { left: 2, woken: 0, isAway: false };
  const hold: Meter["hold"] = (count, options) => {
    if (store.isAway) return Promise.reject(new Error("away"));
    const more = Math.min(count, store.left);
    store.left -= more;
    return Promise.resolve({
      held: (options?.left ?? 0) + Math.max(0, more),
      tokens: store.left,
      retryAfter: 0,
    });
  };
  const shared = new SharedSlots({
    max: 2,
    meterOf: () => ({ hold }) as Meter,
    countReplicas: () => 1,
    tell: () => Promise.resolve(),
    wake: () => void store.woken++,
  });
  const slots = new Slots(0, 4);
  shared.add("shop", slots);
  return { store, shared, slots };
}

it("is at rest while nothing is taken, runs or waits, and wakes who looks after it with the first call", async () => {
  const { store, shared, slots } = shareTwo();
  expect([shared.isAtRest, store.woken]).toEqual([true, 0]);
  const taking = shared.take(slots);
  expect([shared.isAtRest, store.woken]).toEqual([false, 1]);
  expect([await taking, shared.isAtRest]).toEqual([true, false]);
  // Taken and not used is no rest either: it is to be given back, or another replica waits for it in vain.
  slots.release();
  expect([shared.isAtRest, store.left]).toEqual([false, 1]);
  shared.tidy(performance.now());
  expect(shared.isAtRest).toBe(false);
});

it("comes to rest when what it took is its own no longer, and takes again", async () => {
  const { store, shared, slots } = shareTwo();
  await shared.take(slots);
  slots.release();
  shared.tidy(performance.now() + 10_001);
  // The store is told so before it rests.
  expect([shared.isAtRest, slots.max]).toEqual([false, 0]);
  await shared.close();
  expect(shared.isAtRest).toBe(true);
  expect([await shared.take(slots), shared.isAtRest, store.woken]).toEqual([true, false, 2]);
});

it.each(["stays away", "is back"])("comes to rest when its store %s", async (end) => {
  const passTime = startClock();
  const { store, shared, slots } = shareTwo();
  store.isAway = true;
  expect(await shared.take(slots)).toBe(true);
  slots.release();
  store.isAway = end === "stays away";
  shared.tidy(performance.now());
  // It may run its share of the bound for a second.
  expect([shared.isAtRest, slots.max]).toEqual([false, 2]);
  passTime(1_001);
  shared.tidy(performance.now());
  expect([shared.isAtRest, slots.max]).toEqual([true, 0]);
  expect([await shared.take(slots), store.woken]).toEqual([true, 2]);
});

it("gives back what nobody used for long, also while it is kept by asking again", async () => {
  const passTime = startClock();
  const { shared, slots } = shareTwo();
  await shared.take(slots);
  slots.release();
  for (let second = 0; second < 12; second++) {
    passTime(1_000);
    shared.tidy(performance.now());
    await setImmediate();
  }
  expect(shared.isAtRest).toBe(true);
});
