import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Answer } from "../../../core/index.ts";
import { copyJson } from "../../../plugins/history/copy.ts";
import { Ring } from "../../../plugins/history/ring.ts";
import { Secrets } from "../../../plugins/history/secrets.ts";

const textOf = (ring: Ring): string[] => {
  const texts: string[] = [];
  for (let number = ring.oldest; number < ring.next; number++)
    texts.push(ring.read(number)!.toString());
  return texts;
};

/** An answer whose bytes are those of a text in two pieces. */
const rawAnswer = (text: string): Answer => {
  const bytes = Buffer.from(text);
  const middle = bytes.length >> 1;
  const chunks = [bytes.subarray(0, middle), bytes.subarray(middle)];
  return Answer.raw({ chunks, idStart: 0, idEnd: 0 });
};

describe("the ring", () => {
  const sizes = fc.integer({ min: 1, max: 400 });
  const limits = fc.record({ entries: fc.integer({ min: 1, max: 8 }), memory: fc.nat(1_000) });
  const pushes = fc.array(
    fc.record({ size: sizes, more: fc.nat(40), limits: fc.option(limits, { freq: 10 }) }),
    { maxLength: 80 },
  );

  it("M131: never holds more entries or bytes than allowed, always the newest, and every byte of them", () => {
    fc.assert(
      fc.property(limits, pushes, (first, all) => {
        const ring = new Ring(first);
        let pushed: string[] = [];
        for (const [at, { size, more, limits: changed }] of all.entries()) {
          if (changed) ring.limits = changed;
          const text = `${at}:${"ä".repeat(size >> 1)}`;
          const answer = `${"€".repeat(more)}${at}`;
          ring.push(text, rawAnswer(answer), Buffer.byteLength(answer));
          pushed.push(text + answer);
          const kept = textOf(ring);
          const bytes = kept.reduce((sum, own) => sum + Buffer.byteLength(own), 0);
          expect(ring.bytes).toBe(bytes);
          expect(bytes).toBeLessThanOrEqual(ring.limits.memory);
          expect(kept.length).toBeLessThanOrEqual(ring.limits.entries);
          expect(kept).toEqual(pushed.slice(pushed.length - kept.length));
          expect(ring.next).toBe(at + 2);
          // Lost are only what did not fit, the piece at the end of the block and one record that stood in the way.
          const isFull = bytes > ring.limits.memory - 2 * 560;
          expect(isFull || kept.length === Math.min(pushed.length, ring.limits.entries)).toBe(true);
          pushed = pushed.slice(pushed.length - kept.length);
        }
      }),
    );
  });

  it("M131: takes no memory before the first record, and after it what the limits say", () => {
    const before = process.memoryUsage().arrayBuffers;
    const memory = 32 * 1_048_576;
    const ring = new Ring({ entries: 1_000, memory });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_048_576);
    for (let at = 0; at < 3_000; at++) ring.push("x".repeat(20_000));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(memory + 1_048_576);
    expect(ring.size).toBe(1_000);
  });

  it("forgets everything at once, and never uses a number twice", () => {
    const ring = new Ring({ entries: 3, memory: 100 });
    for (const text of ["a", "b", "c", "d"]) ring.push(text);
    expect([ring.oldest, ring.next, ring.clear(), ring.size, ring.bytes]).toEqual([2, 5, 3, 0, 0]);
    expect(ring.read(4)).toBeUndefined();
    ring.push("e");
    expect([ring.read(4), ring.read(5)?.toString(), ring.read(6)]).toEqual([
      undefined,
      "e",
      undefined,
    ]);
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
      "\\".repeat(500_000),
      '"a":'.repeat(200_000),
      '\\"token\\":\\"'.repeat(50_000),
      '"'.repeat(500_000),
    ])
      secrets.mask(text);
    // Quadratic would be minutes.
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
