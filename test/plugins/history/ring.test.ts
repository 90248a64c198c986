import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { copyJson } from "../../../plugins/history/copy.ts";
import type { Entry } from "../../../plugins/history/entry.ts";
import { Ring } from "../../../plugins/history/ring.ts";
import { Secrets } from "../../../plugins/history/secrets.ts";

const entry = (number: number, id: string, bytes: number) => ({ number, id, bytes }) as Entry;

describe("the ring", () => {
  it("M131: never holds more entries or bytes than allowed, and always the newest", () => {
    const limits = fc.record({ entries: fc.integer({ min: 1, max: 8 }), memory: fc.nat(1_000) });
    const pushes = fc.array(fc.record({ bytes: fc.integer({ min: 1, max: 400 }), limits }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(pushes, (all) => {
        const ring = new Ring();
        const pushed: { id: string; bytes: number }[] = [];
        for (const [at, { bytes, limits: now }] of all.entries()) {
          ring.push(entry(ring.nextNumber(), String(at), bytes), now);
          pushed.push({ id: String(at), bytes });
          const kept = ring.all();
          const sum = kept.reduce((total, { bytes: own }) => total + own, 0);
          expect(ring.bytes).toBe(sum);
          expect(ring.size).toBe(kept.length);
          expect(kept.length).toBeLessThanOrEqual(now.entries);
          expect(sum).toBeLessThanOrEqual(now.memory);
          expect(kept.map(({ id }) => id)).toEqual(
            pushed.slice(pushed.length - kept.length).map(({ id }) => id),
          );
          pushed.splice(0, pushed.length - kept.length);
          const numbers = kept.map(({ number }) => number);
          expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        }
      }),
    );
  });
});

describe("the copy", () => {
  const secrets = new Secrets([]);

  it("is the value itself while there is room, for any JSON without secret names", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = copyJson(value, { limit: 1_000_000 });
        expect(copy.value).toEqual(value);
        expect(copy.truncated).toBe(false);
        expect(copy.bytes).toBeGreaterThan(0);
      }),
    );
  });

  it("M131: takes no more than its limit and a little, whatever it copies", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 8 }),
        fc.integer({ min: 50, max: 2_000 }),
        (value, limit) => {
          const { value: copied, truncated, redacted } = copyJson(value, { limit, secrets });
          const length = JSON.stringify(copied)?.length ?? 0;
          // Marks of what was cut off, quotes and commas are not counted.
          expect(length).toBeLessThanOrEqual(limit * 2 + 200);
          const isSame = JSON.stringify(value) === JSON.stringify(copied);
          expect(isSame || truncated || redacted).toBe(true);
        },
      ),
    );
  });

  it("M146: a secret shows at no depth, under any spelling of its name, with any limit", () => {
    const names = fc.constantFrom(
      "password",
      "API-Key",
      "api_key",
      "accessToken",
      "Client-Secret",
      "COOKIE",
    );
    const deep = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 6 },
        fc
          .tuple(names, fc.constantFrom("canary-1", ["canary-1"], { a: "canary-1" }))
          .map(([name, secret]) => ({ [name]: secret })),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("a", "b", "__proto__"), tie("tree"), { maxKeys: 3 }),
      ),
    })).tree;
    fc.assert(
      fc.property(deep, fc.integer({ min: 16, max: 5_000 }), (value, limit) => {
        const copy = copyJson(value, { limit, secrets });
        expect(JSON.stringify(copy.value)).not.toContain("canary");
        const planted = JSON.stringify(value).includes("canary");
        expect(copy.secrets.length > 0 || copy.unsearched).toBe(planted);
      }),
    );
  });

  it("does not look through a value without end, and says so", () => {
    const large = Array.from({ length: 100_000 }, () => ({}));
    expect(copyJson({ large, password: "late-one" }, { limit: 500, secrets }).unsearched).toBe(
      true,
    );
  });
});

describe("secrets in text", () => {
  const secrets = new Secrets(["pin"]);
  const quoted = (depth: number, value: unknown): string =>
    depth === 0 ? JSON.stringify(value) : quoted(depth - 1, JSON.stringify(value));

  it("M146: are masked in JSON text at every depth of quoting, wherever it is cut off", () => {
    const value = { a: 1, password: 'can"ar\\y-1', pin: 1234, token: { x: "canary-2" }, b: "fine" };
    for (let depth = 0; depth < 4; depth++) {
      const text = quoted(depth, value);
      for (let end = 0; end <= text.length; end++)
        expect(secrets.mask(text.slice(0, end))).not.toMatch(/can|ary|1234/);
    }
    expect(secrets.mask(JSON.stringify({ a: "x", tokens: 5 }))).toBe('{"a":"x","tokens":5}');
  });

  it("is fast for hostile text", () => {
    const started = performance.now();
    for (const text of [
      "\\".repeat(50_000),
      '"a":'.repeat(20_000),
      '\\"token\\":\\"'.repeat(5_000),
      '"'.repeat(50_000),
    ])
      secrets.mask(text);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
