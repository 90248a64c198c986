import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { ExpiringMap } from "../../../core/kit/expiring-map.ts";
import { Arrivals, FairArrivals } from "../../../core/kit/fair-quota.ts";

it("a value is known until its time is over, and the oldest goes for a new one", () => {
  const clock = vi.spyOn(Date, "now").mockReturnValue(1_000);
  const map = new ExpiringMap<string>(2);
  map.set("a", "A", 2_000);
  map.set("b", "B", 3_000);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual(["A", "B", undefined]);
  clock.mockReturnValue(2_000);
  expect([map.get("a"), map.get("b"), map.size]).toEqual([undefined, "B", 1]);
  for (const key of ["c", "d"]) map.set(key, key, 9_000);
  expect([map.get("b"), map.get("c"), map.get("d"), map.size]).toEqual([undefined, "c", "d", 2]);
  clock.mockRestore();
});

it("a key that is set again pushes nobody out", () => {
  const map = new ExpiringMap<number>(2);
  const end = Date.now() + 60_000;
  map.set("a", 1, end);
  map.set("b", 2, end);
  map.set("b", 3, end);
  expect([map.get("a"), map.get("b")]).toEqual([1, 3]);
});

it("at the bound the oldest of the owner with the most goes, and one that ended is no share", () => {
  const clock = vi.spyOn(Date, "now").mockReturnValue(1_000);
  const map = new ExpiringMap<string>(4);
  const put = (key: string, owner: string, until = 9_000) => map.set(key, key, until, owner);
  const kept = () => ["a1", "b1", "b2", "b3", "b4", "c1", "c2"].filter((key) => map.get(key));
  put("a1", "a");
  for (const key of ["b1", "b2", "b3"]) put(key, "b");
  put("b4", "b");
  expect(kept()).toEqual(["a1", "b2", "b3", "b4"]);
  put("c1", "c");
  expect(kept()).toEqual(["a1", "b3", "b4", "c1"]);
  put("b3", "b", 2_000);
  clock.mockReturnValue(2_000);
  expect(kept()).toEqual(["a1", "b4", "c1"]);
  put("c2", "c");
  expect(kept()).toEqual(["a1", "b4", "c1", "c2"]);
  clock.mockRestore();
});

it("what gives way is the oldest of an owner who would have the most", () => {
  const owners = ["a", "b", "c", "d"];
  const step = fc.record({ owner: fc.constantFrom(...owners), deleted: fc.nat(40) });
  const ofOwner = (model: readonly string[], owner: string): readonly string[] =>
    model.filter((key) => key.startsWith(owner));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const arrivals = new FairArrivals();
      let model: readonly string[] = [];
      const remove = (key: string | undefined): void => {
        if (key === undefined) return;
        arrivals.delete(key.charAt(0), key);
        model = model.filter((each) => each !== key);
      };
      for (const [at, { owner, deleted }] of steps.entries()) {
        remove(model[deleted]);
        const sizes = owners.map((name) => ofOwner([...model, owner], name).length);
        const most = owners.filter((_, index) => sizes[index] === Math.max(...sizes));
        const allowed = most.map((name) => ofOwner(model, name)[0]);
        const victim = arrivals.surplus(owner);
        expect(model.length === 0 ? [undefined] : allowed).toContain(victim);
        expect(victim === undefined).toBe(model.length === 0);
        if (model.length >= 8) remove(victim);
        arrivals.add(owner, `${owner}${at}`);
        model = [...model, `${owner}${at}`];
      }
    }),
  );
});

it.each([1, 4, 1_000])(
  "at the bound a new value of one of %i owners looks at no other",
  (owners) => {
    const map = new ExpiringMap<number>(1_000);
    const end = Date.now() + 60_000;
    const put = (at: number) => map.set(`${at}`, at, end, `${at % owners}`);
    for (let at = 0; at < 1_000; at++) put(at);
    const next = vi.spyOn(Object.getPrototypeOf(new Map().entries()), "next");
    for (let at = 1_000; at < 2_000; at++) put(at);
    const looks = next.mock.calls.length;
    next.mockRestore();
    expect([map.size, map.get("999"), map.get("1000")]).toEqual([1_000, undefined, 1_000]);
    expect(looks).toBe(0);
  },
);

it("a line has what came first in front, whatever went before it", () => {
  const line = new Arrivals<number>();
  for (let at = 0; at < 5; at++) line.add(at);
  line.add(2);
  expect([...line]).toEqual([0, 1, 2, 3, 4]);
  expect([line.delete(0), line.delete(0)]).toEqual([true, false]);
  line.delete(2);
  line.delete(4);
  expect([...line]).toEqual([1, 3]);
  line.add(0);
  expect([...line]).toEqual([1, 3, 0]);
  expect([line.size, line.has(0), line.has(4)]).toEqual([3, true, false]);
});

it("a line goes on behind one that is deleted in its turn, and is empty behind the last", () => {
  const line = new Arrivals<number>();
  for (let at = 0; at < 4; at++) line.add(at);
  const seen: number[] = [];
  for (const value of line) {
    seen.push(value);
    line.delete(value);
  }
  expect(seen).toEqual([0, 1, 2, 3]);
  expect([line.size, [...line]]).toEqual([0, []]);
  line.add(7);
  expect([...line]).toEqual([7]);
});
