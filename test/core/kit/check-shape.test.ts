import { describe, expect, it } from "vitest";
import { z } from "zod";
import { boundedRecord, checkShape, FIRST_PROBLEM, UniqueNames } from "../../../core/kit.ts";
import { describeProblems, toProblems } from "../../../core/internal.ts";

const part = z.strictObject({ text: z.string() });
const ones = Array.from({ length: 1_900_000 }, () => 1);
const keys = Object.fromEntries(Array.from({ length: 330_000 }, (_, at) => [`k${at}`, 1]));

describe("a value that somebody else makes large", () => {
  it.each([
    ["a list without a maximum", z.array(part), ones],
    ["a list in a list", z.object({ a: z.array(part) }), { a: ones }],
    ["a list of a union", z.array(z.union([part, z.strictObject({ x: z.string() })])), ones],
    ["a list with a maximum", z.array(part).max(10), ones],
    ["a map", boundedRecord(z.string(), z.string(), 100), keys],
    ["unknown members", z.strictObject({}), keys],
  ])("attacks S1-1: has one problem, with bounded words: %s", (_, schema, value) => {
    const { error } = checkShape<unknown>(schema, value);
    expect(error!.issues).toHaveLength(1);
    expect(describeProblems(error!.issues).join("; ").length).toBeLessThan(1_000);
    expect(JSON.stringify(toProblems(error!.issues)).length).toBeLessThan(1_000);
  });

  it("zod still stops at the first problem when it is asked to", () => {
    const { error } = z.array(part).safeParse([1, 2, 3], FIRST_PROBLEM);
    expect(error!.issues).toHaveLength(1);
  });
});

it("all problems of a small value are told, the first ten in words", () => {
  const { error } = checkShape(
    z.array(part),
    Array.from({ length: 14 }, () => 1),
  );
  expect(error!.issues).toHaveLength(14);
  expect(describeProblems(error!.issues)).toHaveLength(11);
  expect(describeProblems(error!.issues).at(-1)).toBe("and 4 more");
});

it("a map of as many keys as it may have passes, and says its maximum in JSON Schema", () => {
  const schema = boundedRecord(z.string(), z.number(), 2);
  expect(schema.safeParse({ a: 1, b: 2 }).data).toEqual({ a: 1, b: 2 });
  expect(schema.safeParse({ a: 1, b: 2, c: 3 }).error!.issues).toMatchObject([{ code: "too_big" }]);
  expect(schema.safeParse({ a: "x" }).error!.issues).toMatchObject([{ path: ["a"] }]);
  expect(z.toJSONSchema(schema)).toMatchObject({ type: "object", maxProperties: 2 });
});

it("attacks S1-3: 30,000 equal names, and names that are alike in 64 characters, are numbered in one pass", () => {
  const names = new UniqueNames(["taken"]);
  expect(names.take("taken")).toBe("taken_2");
  const long = Array.from({ length: 30_000 }, (_, at) => `${"x".repeat(62)}${at % 90}`);
  const given = [...Array.from({ length: 30_000 }, () => "same"), ...long].map((name) =>
    names.take(name),
  );
  expect(new Set(given).size).toBe(60_000);
  expect(given[29_999]).toBe("same_30000");
  expect(Math.max(...given.map(({ length }) => length))).toBeLessThanOrEqual(64);
});
