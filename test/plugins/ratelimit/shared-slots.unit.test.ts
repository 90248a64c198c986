import { expect, it } from "vitest";
import type { Meter } from "propylon/store";
import { SharedSlots } from "../../../plugins/ratelimit/shared-slots.ts";
import { Slots } from "../../../plugins/ratelimit/slots.ts";

/** A bound of two that is shared through a meter of which `left` says what nobody holds. */
function shareTwo() {
  const store = { left: 2, woken: 0 };
  const hold: Meter["hold"] = (count, options) => {
    const more = Math.min(count, store.left);
    store.left -= more;
    return Promise.resolve({
      held: (options?.left ?? 0) + more,
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
