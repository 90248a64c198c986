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
