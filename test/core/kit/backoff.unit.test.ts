import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { backoffDelay, readRetryAfter } from "propylon/kit";
import { expect, it, onTestFinished, vi } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const ms = fc.integer({ min: 0, max: 100_000_000 });

it("doubles up to the longest wait and is shortened by at most half, after any number of failures", () => {
  const failures = fc.integer({ min: 1, max: 1_000_000_000 });
  const random = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(failures, ms, ms, random, (failed, initial, max, chance) => {
      const whole = Math.min(max, initial * 2 ** Math.min(30, failed - 1));
      const wait = backoffDelay(failed, { initial, max }, 0, chance);
      expect(wait).toBeGreaterThanOrEqual(whole / 2);
      expect(wait).toBeLessThanOrEqual(whole);
      expect(Number.isInteger(wait)).toBe(true);
    }),
  );
});

it("never waits less than the other side asks for, nor longer than the longest wait", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), ms, ms, ms, (failed, initial, max, asked) => {
      const wait = backoffDelay(failed, { initial, max }, asked);
      expect(wait).toBeGreaterThanOrEqual(Math.min(asked, max));
      expect(wait).toBeLessThanOrEqual(max);
    }),
  );
});

it("is the only exponential backoff of the product", () => {
  const files = ["core", "plugins", "templates/src"].flatMap((folder) =>
    readdirSync(ROOT + folder, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => `${folder}/${path}`),
  );
  const grown = /\* 2 \*\*|\*= 2\b|Math\.pow\(2/;
  expect(files.filter((path) => grown.test(readFileSync(ROOT + path, "utf8")))).toEqual([
    "core/kit/backoff.ts",
  ]);
});

it.each([
  ["17", 17_000],
  [" 2.5 ", 2_500],
  ["2000000", 2_000_000_000],
  [new Date(61_000).toUTCString(), 60_000],
  [new Date(0).toUTCString(), 0],
  ["", undefined],
  ["soon", undefined],
  ["-3", undefined],
  ["9".repeat(400), undefined],
])("a Retry-After of %j asks for %j ms", (value, wait) => {
  vi.setSystemTime(1_000);
  onTestFinished(() => void vi.useRealTimers());
  expect(readRetryAfter(value)).toBe(wait);
});
