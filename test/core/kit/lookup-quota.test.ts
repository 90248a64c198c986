import { LookupQuota } from "propylon/kit";
import { expect, it } from "vitest";
import { deferred } from "../../kit/deferred.ts";

/** Begins as many look-ups as are let in, which end together. */
function fill(lookups: LookupQuota, refs: readonly string[]) {
  const { promise: ended, resolve: end } = deferred();
  const begun = refs.map((ref) =>
    lookups.run(ref, () => ended).catch((error: { code: string }) => error.code),
  );
  return async () => {
    end();
    const codes = await Promise.all(begun);
    return codes.filter((code) => code === "unavailable").length;
  };
}

const repeat = (ref: string, count: number): string[] => Array.from({ length: count }, () => ref);

it("lets one principal look for 1,000 things at a time, and nobody else wait for that", async () => {
  const lookups = new LookupQuota("tasks");
  const finish = fill(lookups, [...repeat("user:ann", 1_005), "user:ben"]);
  await expect(lookups.run("user:ann", () => Promise.resolve(1))).rejects.toMatchObject({
    code: "unavailable",
    message: "Too many tasks are looked for at the moment.",
    headers: { "retry-after": "1" },
  });
  expect(await lookups.run("user:ben", () => Promise.resolve(1))).toBe(1);
  expect(await finish()).toBe(5);
  expect(await lookups.run("user:ann", () => Promise.resolve(1))).toBe(1);
});

it("lets 4,000 be under way, and gives the place back of what failed", async () => {
  const lookups = new LookupQuota("tasks");
  const failed = repeat("user:ann", 5_000).map(() =>
    lookups.run("user:ann", () => Promise.reject(new Error("away"))).catch(() => "failed"),
  );
  await Promise.all(failed);
  const finish = fill(
    lookups,
    ["ann", "ben", "cem", "dan", "eva"].flatMap((id) => repeat(`user:${id}`, 900)),
  );
  await expect(lookups.run("user:fay", () => Promise.resolve(1))).rejects.toThrow(/Too many/);
  expect(await finish()).toBe(500);
  expect(await lookups.run("user:fay", () => Promise.resolve(1))).toBe(1);
});

it("has the bounds that it is given, and hands out places for what is no promise", () => {
  const told: string[] = [];
  const bounds = { max: 3, maxOfOne: 2 };
  const lookups = new LookupQuota("streams", bounds, (bound) => told.push(bound));
  const [first] = [lookups.take("user:ann"), lookups.take("user:ann")];
  expect(() => lookups.take("user:ann")).toThrow("Too many streams");
  lookups.take("user:ben");
  expect(() => lookups.take("user:ben")).toThrow("Too many streams");
  first();
  lookups.take("user:ben");
  expect(lookups.refused).toBe(2);
  expect(told).toEqual(["principal", "total"]);
});
