import fc from "fast-check";
import { ExactNumber, parseExact, writeJson, isObject, parseJson } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { compareNumbers, isInteger, mapExact, toBigInt } from "../../../core/kit/exact-number.ts";
import { scalarText } from "../../../core/kit/json.ts";
import { rounds } from "../../fixtures/ci.ts";

const number = (text: string): ExactNumber => new ExactNumber(text);

/** Any number by the grammar of JSON. */
const numbers = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.oneof(fc.constant("0"), fc.bigInt({ min: 1n, max: 10n ** 40n }).map(String)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^\.\d{1,30}$/)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^[eE][+-]?\d{1,4}$/)),
  )
  .map((parts) => parts.join(""));

describe("a JSON text", () => {
  it("bugs-mcp 3: any number in it is written again as the same one, nested anywhere", () => {
    fc.assert(
      fc.property(numbers, (text) => {
        const value = parseExact(`{"a":[${text},{"b":${text}}],"k${text}":"${text}"}`);
        const again = writeJson(value);
        const [written] = /(?<="a":\[)[^,]+/.exec(again)!;
        expect(compareNumbers(number(written), number(text))).toBe(0);
        expect(again).toBe(`{"a":[${written},{"b":${written}}],"k${text}":"${text}"}`);
      }),
      { numRuns: rounds(2_000) },
    );
  });

  it("is what JSON.parse makes of it where JavaScript holds its numbers, or is refused alike", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(400), (given, cut) => {
        const text = JSON.stringify(given);
        const broken = text.slice(0, cut);
        expect(outcomeOf(parseExact, text)).toEqual(outcomeOf(JSON.parse, text));
        const refused = outcomeOf(JSON.parse, broken);
        // What is left of a number may be one that JavaScript does not hold.
        const came = "value" in refused ? refused : outcomeOf(parseExact, broken);
        expect(came).toEqual(refused);
      }),
      { numRuns: rounds(2_000) },
    );
    for (const text of ['{"n":9007199254740993,}', "[12345678901234567890", "01234567890123456789"])
      expect(outcomeOf(parseExact, text)).toEqual(outcomeOf(JSON.parse, text));
  });

  it("keeps __proto__ as a member", () => {
    const value = parseExact('{"__proto__":{"n":9007199254740993}}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(writeJson(value)).toBe('{"__proto__":{"n":9007199254740993}}');
  });

  it.each(["9007199254740993", "0.10000000000000000555", "1e400"])(
    "S1: 50,000 of %s are kept; more are refused in a request, and texts in what came back",
    (text) => {
      const of = (count: number): string => `[${Array<string>(count).fill(text).join()}]`;
      expect(writeJson(parseJson(Buffer.from(of(50_000)), 9))).toBe(of(50_000));
      expect(() => parseJson(Buffer.from(of(50_001)), 9)).toThrow("more than 50000 numbers");
      expect(writeJson(parseExact(of(50_001)))).toBe(of(50_001).replace(/[^,]+$/, `"${text}"]`));
    },
  );

  it("S1: a number of 4 MB is compared in linear time", () => {
    const long = number(`1${"0".repeat(2_000_000)}1.${"0".repeat(2_000_000)}1`);
    expect(compareNumbers(long, number("1e2000001"))).toBe(1);
    expect(toBigInt(long)).toBeUndefined();
    expect(toBigInt(number("1e999999999"))).toBeUndefined();
  });
});

function outcomeOf(parse: (text: string) => unknown, text: string): object {
  try {
    return { value: writeJson(parse(text)) };
  } catch (error) {
    return { error: String(error) };
  }
}

describe("an exact number", () => {
  const big = number("9007199254740993");

  it("is a text of its digits for code that does not know it, and no number that is another one", () => {
    expect(JSON.stringify({ n: [big] })).toBe('{"n":["9007199254740993"]}');
    expect([String(big), scalarText(big)]).toEqual(["9007199254740993", "9007199254740993"]);
    expect(() => Number(big)).toThrow("JavaScript has no number 9007199254740993");
    expect(Number(number("0.10000000000000000555"))).toBe(0.1);
    expect(isObject(big)).toBe(false);
  });

  it("cannot be claimed by a text", () => {
    const value = { n: big, text: JSON.stringify(JSON.parse(writeJson({ n: "5" }))) };
    expect(writeJson(value)).toBe(String.raw`{"n":9007199254740993,"text":"{\"n\":\"5\"}"}`);
  });

  it.each([
    ["1e400", true],
    ["12345678901234567890.5", false],
    ["12345678901234567890.0", true],
    ["-1e-400", false],
  ])("%s is an integer: %s", (text, whole) => {
    expect(isInteger(number(text))).toBe(whole);
  });

  it("stands for a bigint that code returns, and leaves what is a date a date", () => {
    const at = new Date(0);
    expect(writeJson(mapExact({ n: 5n, at }, (one) => one))).toBe(
      '{"n":5,"at":"1970-01-01T00:00:00.000Z"}',
    );
  });
});
