import fc from "fast-check";
import { expect, it } from "vitest";
import { Slots, type Waiter } from "../../../plugins/ratelimit/slots.ts";

/** Somebody who writes down what becomes of them. */
function waiter(principal: string, name: string, log: string[]): Waiter {
  return {
    principal,
    admit: () => void log.push(name),
    displace: () => void log.push(`-${name}`),
    close: () => undefined,
  };
}

it("M119: lets `max` run, `queue` wait and nobody else", () => {
  const slots = new Slots(2, 1);
  const log: string[] = [];
  expect([slots.take(), slots.take(), slots.take()]).toEqual([true, true, false]);
  expect(slots.join(waiter("a", "a1", log))).toBe(true);
  expect(slots.join(waiter("a", "a2", log))).toBe(false);
  slots.release();
  expect([log, slots.active, slots.waiting]).toEqual([["a1"], 2, 0]);
  slots.release();
  slots.release();
  expect(slots.isIdle).toBe(true);
});

it("lets principals take turns, so that who has one call waits for one call of everybody else", () => {
  const slots = new Slots(1, 10);
  const log: string[] = [];
  slots.take();
  for (const name of ["a1", "a2", "a3", "a4", "b1", "c1", "b2"])
    slots.join(waiter(name[0]!, name, log));
  for (let count = 0; count < 7; count++) slots.release();
  expect(log).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
});

it("takes a place from who has most when the queue is full, so that one principal cannot shut out others", () => {
  const slots = new Slots(1, 4);
  const log: string[] = [];
  slots.take();
  for (const name of ["a1", "a2", "a3", "a4"]) slots.join(waiter("a", name, log));
  expect(slots.join(waiter("b", "b1", log))).toBe(true);
  expect(slots.join(waiter("b", "b2", log))).toBe(true);
  expect(slots.join(waiter("b", "b3", log))).toBe(false);
  expect([log, slots.waiting]).toEqual([["-a4", "-a3"], 4]);
});

it("nobody takes a free slot past those who wait", () => {
  const slots = new Slots(1, 4);
  slots.take();
  const one = waiter("a", "a1", []);
  slots.join(one);
  expect(slots.take()).toBe(false);
  slots.leave(one);
  slots.release();
  expect(slots.take()).toBe(true);
});

it("property: bounds hold, nothing is lost and nobody starves, whatever happens", () => {
  const step = fc.record({
    kind: fc.constantFrom("arrive", "arrive", "release", "leave"),
    who: fc.constantFrom("a", "b", "c"),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 0, max: 6 }),
      fc.array(step, { maxLength: 200 }),
      (max, places, steps) => {
        const slots = new Slots(max, places);
        const queued = new Set<Waiter>();
        let running = 0;
        for (const { kind, who } of steps) {
          if (kind === "release" && running > 0) {
            running--;
            slots.release();
          } else if (kind === "leave") {
            const [first] = queued;
            if (first) slots.leave(first);
            if (first) queued.delete(first);
          } else if (kind === "arrive") {
            const self: Waiter = {
              principal: who,
              admit: () => {
                queued.delete(self);
                running++;
              },
              displace: () => void queued.delete(self),
              close: () => undefined,
            };
            if (slots.take()) running++;
            else if (slots.join(self)) queued.add(self);
          }
          expect(slots.active).toBe(running);
          expect(slots.waiting).toBe(queued.size);
          expect(running).toBeLessThanOrEqual(max);
          expect(queued.size).toBeLessThanOrEqual(places);
          // A slot is never idle while somebody waits.
          expect(queued.size === 0 || running === max).toBe(true);
        }
      },
    ),
    { numRuns: 500 },
  );
});
