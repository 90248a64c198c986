import fc from "fast-check";
import { nearest } from "propylon/cli";
import { describe, expect, it } from "vitest";
import { distance } from "../../../core/kit/spelling.ts";

const word = fc.string({ maxLength: 8, unit: fc.constantFrom("a", "b", "c") });

describe("spelling", () => {
  it.each([
    ["", "abc", 3],
    ["kitten", "sitting", 3],
    ["prot", "port", 1],
    ["hosst", "host", 1],
    ["same", "same", 0],
  ])("distance from %j to %j is %d", (left, right, expected) => {
    expect(distance(left, right)).toBe(expected);
  });

  it("is symmetric, zero only for equal words, and never more than the longer word", () => {
    fc.assert(
      fc.property(word, word, (left, right) => {
        const found = distance(left, right);
        expect(found).toBe(distance(right, left));
        expect(found === 0).toBe(left === right);
        expect(found).toBeLessThanOrEqual(Math.max(left.length, right.length));
        expect(found).toBeGreaterThanOrEqual(Math.abs(left.length - right.length));
      }),
    );
  });

  it("finds what was meant, and nothing when nothing is near", () => {
    expect(nearest("tiemout", ["timeout", "transport"])).toBe("timeout");
    expect(nearest("allowed_hosts", ["allowedHosts"])).toBe("allowedHosts");
    expect(nearest("banana", ["timeout", "transport"])).toBeUndefined();
  });
});
