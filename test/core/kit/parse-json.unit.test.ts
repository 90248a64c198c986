import fc from "fast-check";
import { isGatewayError } from "propylon";
import { ExactNumber, parseJson } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { rounds } from "../../fixtures/ci.ts";

const DEPTH = 64;

function refusalOf(
  body: Buffer,
  depth = DEPTH,
): { code: string; reason: unknown; message: string } {
  try {
    parseJson(body, depth);
  } catch (error) {
    if (isGatewayError(error))
      return { code: error.code, reason: error.data?.["reason"], message: error.message };
    throw error;
  }
  throw new Error("was accepted");
}

/** The value, or the code it was refused with. */
function outcomeOf(body: Buffer, depth: number): unknown {
  try {
    return parseJson(body, depth);
  } catch (error) {
    return isGatewayError(error) && error.code === "bad_request" ? error.code : "something else";
  }
}

/** Deepest nesting of a value: 1 for `[]`. */
function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe("parseJson", () => {
  it("agrees with JSON.parse on every JSON text", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), (text) => {
        expect(parseJson(Buffer.from(text), DEPTH)).toEqual(JSON.parse(text));
      }),
      { numRuns: rounds(2_000) },
    );
  });

  it("accepts exactly what is not deeper than the limit, brackets in strings not counted", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 12 }),
        fc.integer({ min: 0, max: 12 }),
        fc.string(),
        (value, limit, noise) => {
          const wrapped = { ['[{"\\' + noise]: value, padding: '[[[[{{{{\\"'.repeat(10) };
          const body = Buffer.from(JSON.stringify(wrapped));
          expect(outcomeOf(body, limit)).toEqual(
            depthOf(wrapped) <= limit ? JSON.parse(body.toString()) : "bad_request",
          );
        },
      ),
      { numRuns: rounds(2_000) },
    );
  });

  it("throws nothing but bad_request, whatever the bytes", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc.json().map((text) => Buffer.from(text)),
      fc.tuple(fc.json(), fc.nat(400)).map(([text, cut]) => Buffer.from(text).subarray(0, cut)),
      fc
        .array(fc.constantFrom("[", "{", '"', "\\", ":", ",", "]", "}", "1", "é"), {
          maxLength: 400,
        })
        .map((parts) => Buffer.from(parts.join(""))),
    );
    fc.assert(
      fc.property(bytes, (input) => {
        expect(outcomeOf(Buffer.from(input), 16)).toSatisfy(
          (outcome) => outcome !== "something else",
        );
      }),
      { numRuns: rounds(20_000) },
    );
  });

  it.each([
    ["nothing", "", "empty"],
    ["white space", " \r\n\t", "empty"],
    ["a byte order mark alone", "\ufeff", "empty"],
    ["text", "hello", "syntax"],
    ["a cut object", '{"a":', "syntax"],
    ["two values", "{}{}", "syntax"],
    ["a comment", "{} // hi", "syntax"],
    ["a hundred thousand brackets", "[".repeat(100_000), "depth"],
  ])("refuses %s with a sentence", (_title, text, reason) => {
    const refusal = refusalOf(Buffer.from(text));
    expect(refusal).toMatchObject({ code: "bad_request", reason });
    expect(refusal.message).toMatch(/^[A-Z].+[A-Za-z0-9)]\.$/);
  });

  it("never quotes the body in its sentence", () => {
    expect(refusalOf(Buffer.from('{"password": hunter2}')).message).not.toContain("hunter2");
  });

  it("refuses invalid UTF-8, lone continuation bytes and overlong forms included", () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0x80, 0x22],
      [0x22, 0xc0, 0xaf, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0x22, 0xe2, 0x82],
    ]) {
      expect(refusalOf(Buffer.from(bytes))).toMatchObject({
        code: "bad_request",
        reason: "encoding",
      });
    }
  });

  it("ignores a byte order mark", () => {
    expect(parseJson(Buffer.from('\ufeff{"a":"é"}'), DEPTH)).toEqual({ a: "é" });
  });

  it("keeps the digits of a number that JavaScript does not hold, behind a byte order mark too", () => {
    for (const mark of ["", "\ufeff"])
      expect(parseJson(Buffer.from(`${mark}{"a":9007199254740993}`), DEPTH)).toEqual({
        a: new ExactNumber("9007199254740993"),
      });
  });

  it("keeps __proto__ and constructor as plain members, and the last of duplicate keys", () => {
    const value = parseJson(
      Buffer.from(
        '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"a":1,"A":2,"a":3}',
      ),
      DEPTH,
    );
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)["admin"]).toBeUndefined();
    expect(Object.hasOwn(value as object, "__proto__")).toBe(true);
    expect(value).toMatchObject({ a: 3, A: 2 });
  });
});
