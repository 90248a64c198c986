import * as fc from "fast-check";
import { RingBuffer } from "propylon/process";
import { describe, expect, it } from "vitest";
import { rounds } from "../../fixtures/ci.ts";

describe("tail of a stream", () => {
  it("keeps the last bytes, however they came", () => {
    const chunks = fc.array(fc.string({ unit: "grapheme-ascii", maxLength: 40 }), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(chunks, fc.integer({ min: 1, max: 64 }), (texts, size) => {
        const tail = new RingBuffer(size);
        for (const text of texts) tail.append(Buffer.from(text));
        expect(tail.text).toBe(texts.join("").slice(-size));
      }),
      { numRuns: rounds(5_000) },
    );
  });

  it("leaves out a character cut at its start", () => {
    const tail = new RingBuffer(4);
    tail.append(Buffer.from("a€é"));
    expect(tail.text).toBe("é");
  });

  it("finds the last line that says anything", () => {
    const tail = new RingBuffer(100);
    expect(tail.lastLine(10)).toBe("");
    tail.append(Buffer.from("first\r\n  second line  \n\r\n\n"));
    expect(tail.lastLine(500)).toBe("second line");
    expect(tail.lastLine(6)).toBe("second");
  });
});
