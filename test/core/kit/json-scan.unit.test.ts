import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { latin1Of } from "../../../core/kit/json-grammar.ts";
import { scanJson } from "../../../core/kit/json-scan.ts";
import { rounds } from "../../fixtures/ci.ts";

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** Whether a name is written as it is, and short. */
function isPlain(name: string): boolean {
  return name.length <= 16 && /^[\x20-\x7f]*$/.test(name) && !/["\\]/.test(name);
}

const places = fc.array(fc.nat(), { maxLength: 6 });
const indent = fc.constantFrom(undefined, 1, "\t");

describe("scanJson", () => {
  it("finds the members of every object, however it is cut", () => {
    const object = fc.dictionary(
      fc.string({ unit: "binary-ascii", maxLength: 20 }),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(object, indent, places, (value, space, cuts) => {
        const bytes = Buffer.from(JSON.stringify(value, undefined, space));
        const chunks = cut(bytes, cuts);
        const scan = scanJson(chunks, 512);
        expect(scan).toMatchObject({ fault: undefined, isObject: true });
        const found = scan.members.map(({ start, end }) => latin1Of(chunks, start, end));
        expect(found.map((text) => JSON.parse(Buffer.from(text, "latin1").toString()))).toEqual(
          Object.values(JSON.parse(bytes.toString()) as object),
        );
        const names = Object.keys(value).map((key) => (isPlain(key) ? key : undefined));
        expect(scan.members.map(({ name }) => name)).toEqual(names);
      }),
      { numRuns: 500 },
    );
  });

  it("accepts what the parser accepts and nothing else, however it is broken and cut", () => {
    const edit = fc.record({
      at: fc.nat(),
      remove: fc.nat({ max: 2 }),
      insert: fc.constantFrom("", "{", "}", "[", "]", ",", ":", '"', "\\", "\\u12", "0", "1", "-", ".", "e", "+", " ", "t", "null", "true", "x", "\n"), // prettier-ignore
    });
    fc.assert(
      fc.property(fc.jsonValue(), indent, fc.array(edit, { maxLength: 3 }), places, (...given) => {
        const [value, space, edits, cuts] = given;
        let text = JSON.stringify(value, undefined, space);
        for (const { at, remove, insert } of edits) {
          const from = at % (text.length + 1);
          text = text.slice(0, from) + insert + text.slice(from + remove);
        }
        const { fault } = scanJson(cut(Buffer.from(text), cuts), 512);
        expect({ text, fault }).toEqual({ text, fault: isJson(text) ? undefined : "syntax" });
      }),
      { numRuns: rounds(3_000) },
    );
  });

  it.each([
    "1",
    "-",
    "-0",
    "01",
    "1.",
    ".5",
    "1e5",
    "1e",
    "1E+",
    "1E+2",
    "-1.5e-3",
    "",
    " ",
    '"',
    "nul",
    "nulll",
    "{}{}",
    "[1,]",
    '{"a":1,}',
    "[}",
    '"\\x"',
    '"\\u12G4"',
    '"\t"',
  ])(
    // prettier-ignore
    "agrees with the parser about %j",
    (text) => {
      expect(scanJson([Buffer.from(text)], 9).fault).toBe(isJson(text) ? undefined : "syntax");
    },
  );

  it("counts the depth exactly", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat({ max: 6 }), (value, limit) => {
        const { fault } = scanJson([Buffer.from(JSON.stringify(value))], limit);
        expect(fault).toBe(depthOf(value) > limit ? "depth" : undefined);
      }),
    );
    expect(scanJson([Buffer.from("[".repeat(1e6))], 5_000).fault).toBe("depth");
  });
});
