import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineFramer } from "../../../core/kit/process/lines.ts";
import { rounds } from "../../fixtures/ci.ts";

const HEAD = 4_096;
const TAIL = 256;

interface Seen {
  readonly line?: string;
  readonly head?: string;
  readonly tail?: string;
  readonly length: number;
}

/** Feeds chunks to a framer and notes what it reports, in order; bytes as latin1 so that each is one character. */
function frame(max: number, chunks: readonly Buffer[]): Seen[] {
  const seen: Seen[] = [];
  const framer = new LineFramer(max, {
    onLine: (parts, length) =>
      void seen.push({ line: Buffer.concat(parts).toString("latin1"), length }),
    onOversize: (head, length, tail) =>
      void seen.push({ head: head.toString("latin1"), tail: tail.toString("latin1"), length }),
  });
  for (const chunk of chunks) framer.push(chunk);
  return seen;
}

/** What should come out, computed from the whole text at once. */
function expected(max: number, text: string): Seen[] {
  const lines = text.split("\n").slice(0, -1);
  const bare = lines
    .map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line))
    .filter((line) => line !== "");
  return bare.map((line) => {
    const length = line.length;
    return length <= max
      ? { line, length }
      : { head: line.slice(0, HEAD), tail: line.slice(-TAIL), length };
  });
}

function split(text: string, cuts: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, "latin1");
  const places = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b);
  return [...places, bytes.length].map((place, index) =>
    bytes.subarray(index === 0 ? 0 : places[index - 1], place),
  );
}

const byte = fc.integer({ min: 0, max: 255 });
const newlineHeavy = fc.oneof(
  { weight: 3, arbitrary: byte },
  { weight: 1, arbitrary: fc.constantFrom(10, 13) },
);

describe("line framer", () => {
  it("finds the same lines in any bytes, however they are split", () => {
    const bytes = fc.array(newlineHeavy, { maxLength: 200 });
    const cuts = fc.array(fc.nat(), { maxLength: 20 });
    fc.assert(
      fc.property(bytes, cuts, fc.integer({ min: 1, max: 60 }), (values, places, max) => {
        const text = String.fromCharCode(...values);
        expect(frame(max, split(text, places))).toEqual(expected(max, text));
      }),
      { numRuns: rounds(5_000) },
    );
  });

  it("keeps order and content of lines around the sizes where pieces are copied, trimmed and dropped", () => {
    const size = fc.oneof(
      fc.constantFrom(0, 1, 2_047, 2_048, 4_095, 4_096, 4_097, 8_192, 8_193, 16_384, 16_385),
      fc.integer({ min: 0, max: 50_000 }),
    );
    const line = fc.record({ size, ending: fc.constantFrom("\n", "\r\n") });
    const step = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1_500, max: 5_000 }));
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 6 }),
        fc.array(step, { minLength: 1, maxLength: 4 }),
        size,
        (lines, steps, limit) => {
          const max = Math.max(limit, 1);
          const text = lines
            .map(
              (one, index) =>
                one.size.toString(36).padEnd(one.size, String(index)).slice(0, one.size) +
                one.ending,
            )
            .join("");
          expect(frame(max, inSteps(text, steps))).toEqual(expected(max, text));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("leaves characters whole that were split between chunks", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 50 }),
        fc.array(fc.nat(), { maxLength: 30 }),
        (string, cuts) => {
          const json = JSON.stringify(string);
          const seen = frame(10_000, split(`${Buffer.from(json).toString("latin1")}\n`, cuts));
          expect(Buffer.from(seen[0]?.line ?? "", "latin1").toString()).toBe(json);
        },
      ),
      { numRuns: rounds(1_000) },
    );
  });

  it("does not join the chunks of a large line", () => {
    const chunks = Array.from({ length: 16 }, () => Buffer.alloc(65_536, "x"));
    let parts: readonly Buffer[] = [];
    const framer = new LineFramer(10_000_000, {
      onLine: (found) => (parts = found),
      onOversize: () => expect.unreachable(),
    });
    for (const chunk of [...chunks, Buffer.from("\n")]) framer.push(chunk);
    expect(parts).toHaveLength(16);
    expect(parts.every((part, index) => part === chunks[index])).toBe(true);
  });

  it("keeps a line that comes byte by byte in little more than its own size", () => {
    let parts: readonly Buffer[] = [];
    const framer = new LineFramer(1_000_000, {
      onLine: (found) => (parts = found),
      onOversize: () => expect.unreachable(),
    });
    for (let index = 0; index < 100_000; index++) framer.push(Buffer.from("x"));
    framer.push(Buffer.from("\n"));
    expect(parts.length).toBeLessThan(10);
    expect(parts.reduce((sum, part) => sum + part.buffer.byteLength, 0)).toBeLessThan(120_000);
  });

  it("keeps no more than the head of a line above the limit", () => {
    const before = process.memoryUsage().arrayBuffers;
    let length = 0;
    const framer = new LineFramer(1_000, {
      onLine: () => expect.unreachable(),
      onOversize: (_, size) => (length = size),
    });
    const chunk = Buffer.alloc(65_536, "x");
    for (let index = 0; index < 4_096; index++) framer.push(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
    framer.push(Buffer.from("\n"));
    expect(length).toBe(4_096 * 65_536);
  });
});

function inSteps(text: string, steps: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, "latin1");
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const step = steps[turn % steps.length] ?? 1;
    chunks.push(Buffer.from(bytes.subarray(at, at + step)));
    at += step;
  }
  return chunks;
}
