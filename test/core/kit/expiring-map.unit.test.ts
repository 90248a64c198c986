import { expect, it, vi } from "vitest";
import { ExpiringMap } from "../../../core/kit/expiring-map.ts";

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
