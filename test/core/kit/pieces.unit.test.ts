import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Pieces, readUpTo, SseParser } from "../../../core/internal.ts";

const BYTES = 100_000;
/** One piece for each block of bytes that came one at a time. */
const FEW = 10;

describe("pieces", () => {
  it("are what was added, in its order, and few", () => {
    const lengths = fc.array(fc.oneof(fc.nat(3), fc.nat(5_000)), { maxLength: 6_000 });
    fc.assert(
      fc.property(lengths, (all) => {
        const pieces = new Pieces();
        const added = all.map((length, at) => Buffer.alloc(length, at));
        for (const each of added) pieces.add(each);
        const { length } = pieces;
        const taken = pieces.take();
        expect(Buffer.concat(taken).equals(Buffer.concat(added))).toBe(true);
        expect(length).toBe(Buffer.concat(added).length);
        expect(taken.length).toBeLessThanOrEqual(2 + length / 1_000);
        expect([pieces.length, pieces.take()]).toEqual([0, []]);
      }),
      { numRuns: 30 },
    );
  });

  it("that are large are not copied", () => {
    const pieces = new Pieces();
    const added = Array.from({ length: 3_000 }, () => Buffer.alloc(2_048));
    for (const each of added) pieces.add(each);
    const taken = pieces.take();
    expect(taken.every((piece, at) => piece === added[at])).toBe(true);
  });
});

describe("a sender of one byte at a time", () => {
  const parse = (text: string): readonly Buffer[] => {
    let found: readonly Buffer[] = [];
    const overflow = (): void => expect.unreachable();
    const parser = new SseParser({ event: (data) => (found = data), overflow }, 2 * BYTES);
    for (const byte of Buffer.from(text)) parser.push(Buffer.of(byte));
    return found;
  };

  it("is kept in few pieces where it sends one line of an event", () => {
    const data = parse(`data: ${"x".repeat(BYTES)}\n\n`);
    expect(data.length).toBeLessThan(FEW);
    expect(Buffer.concat(data).toString()).toBe("x".repeat(BYTES));
  });

  it("is kept in few pieces where it sends an event of many lines", () => {
    const data = parse(`${"data: x\n".repeat(BYTES / 2)}\n`);
    expect(data.length).toBeLessThan(FEW);
    expect(Buffer.concat(data).toString()).toBe("x ".repeat(BYTES / 2).trimEnd());
  });

  it("has its body read", async () => {
    async function* bytes(): AsyncIterable<Uint8Array> {
      for (let at = 0; at < BYTES; at++) yield Uint8Array.of(at);
    }
    const body = await readUpTo(bytes(), BYTES);
    expect(body?.length).toBe(BYTES);
    expect(body?.at(-1)).toBe((BYTES - 1) % 256);
    expect(await readUpTo(bytes(), BYTES - 1)).toBeUndefined();
  });
});
