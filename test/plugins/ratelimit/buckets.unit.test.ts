import fc from "fast-check";
import { expect, it } from "vitest";
import { Buckets } from "../../../core/kit/buckets.ts";

/** Takes a token if there is one. */
function spend(buckets: Buckets, key: string, now: number): boolean {
  return buckets.take(key, now) === 0;
}

it("M124: 100 calls within a second over a bucket of 10 with 10 a second: 10 at once, then one every 100 ms", () => {
  const buckets = new Buckets(10, 100);
  const accepted = Array.from({ length: 100 }, (_, index) => index * 10).filter((now) =>
    spend(buckets, "a", now),
  );
  expect(accepted).toEqual([
    ...Array.from({ length: 11 }, (_, index) => index * 10),
    ...Array.from({ length: 8 }, (_, index) => 200 + index * 100),
  ]);
});

it("keeps the buckets of two keys apart", () => {
  const buckets = new Buckets(1, 1_000);
  expect([spend(buckets, "a", 0), spend(buckets, "a", 0), spend(buckets, "b", 0)]).toEqual([
    true,
    false,
    true,
  ]);
});

it("tells how long to wait, what is left, and when it is full", () => {
  const buckets = new Buckets(2, 1_000);
  buckets.take("a", 0);
  buckets.take("a", 0);
  expect(buckets.take("a", 250)).toBe(750);
  expect(buckets.remaining("a", 250)).toBe(0);
  expect(buckets.untilFull("a", 250)).toBe(1_750);
  expect(buckets.remaining("a", 1_000)).toBe(1);
  expect(buckets.remaining("never seen", 0)).toBe(2);
});

it("remembers no more keys than it may, and drops full ones first", () => {
  const buckets = new Buckets(1, 100, 1_000);
  for (let index = 0; index < 1_000; index++) buckets.take(`old-${index}`, 0);
  buckets.take("live", 150);
  expect(buckets.size).toBe(1);
  for (let index = 0; index < 10_000; index++) buckets.take(`new-${index}`, 151);
  expect(buckets.size).toBe(1_000);
});

it("property: any run of calls gets burst + time / interval at most, and a call that waits as told gets through", () => {
  const arrivals = fc.array(fc.double({ min: 0, max: 500, noNaN: true }), { maxLength: 200 });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.double({ min: 0.01, max: 300, noNaN: true }),
      arrivals,
      (burst, interval, gaps) => {
        const buckets = new Buckets(burst, interval);
        const accepted: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          const left = buckets.remaining("k", now);
          const wait = buckets.take("k", now);
          expect(wait === 0).toBe(left >= 1);
          expect(left).toBeLessThanOrEqual(burst);
          if (wait === 0) accepted.push(now);
          const full = buckets.untilFull("k", now);
          const due = now + Math.max(0, full - (burst - 1) * interval);
          expect(buckets.take("k", due)).toBe(0);
          buckets.giveBack("k");
          expect(
            Math.abs(buckets.untilFull("k", due) - Math.max(0, full - (due - now))),
          ).toBeLessThan(1e-6);
        }
        for (let from = 0; from < accepted.length; from++)
          for (let to = from; to < accepted.length; to++)
            expect(to - from + 1).toBeLessThanOrEqual(
              Math.floor(burst + (accepted[to]! - accepted[from]!) / interval + 1e-3),
            );
      },
    ),
    { numRuns: 300 },
  );
});
