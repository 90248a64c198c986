import { parseJson } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { isMuchWork } from "../../../core/kit/json.ts";
import { Answer } from "../../../core/index.ts";

const MANY = 100_000;

function map(count: number, value = "1"): string {
  return `{${Array.from({ length: count }, (_, index) => `"key${index}":${value}`).join()}}`;
}

function isMuch(text: string): boolean {
  return isMuchWork(Buffer.from(text));
}

describe("isMuchWork", () => {
  it.each([
    ["different keys in one map", map(MANY)],
    [
      "maps with a key of their own",
      `[${Array.from({ length: MANY }, (_, i) => `{"k${i}":1}`).join()}]`,
    ],
    ["lists", `[${"[],".repeat(300_000)}[]]`],
    ["texts", `[${'"ab",'.repeat(400_000)}"ab"]`],
    ["keys behind an escape", map(MANY).replaceAll("key", '\\"key')],
    ["keys before blanks", map(MANY).replaceAll(":", " \n : ")],
  ])("S1-1: is so for many %s", (_what, text) => {
    expect(isMuch(text)).toBe(true);
  });

  it.each([
    ["one long text", JSON.stringify({ text: "a{[,:".repeat(800_000) })],
    ["a text of quotes", JSON.stringify({ text: '"'.repeat(2_000_000) })],
    ["numbers", JSON.stringify(Array.from({ length: 400_000 }, (_, index) => index / 7))],
    [
      "rows with the same keys",
      JSON.stringify(
        Array.from({ length: 26_000 }, (_, id) => ({
          id,
          a: "x",
          b: "y",
          c: "z",
          d: 1,
          e: 2,
          f: 3,
        })),
      ),
    ],
    ["a few keys", map(9_000)],
  ])("is not so for %s", (_what, text) => {
    expect(isMuch(text)).toBe(false);
  });
});

it("S1-1: a body with too many keys is refused before it is parsed", () => {
  const refused = expect.objectContaining({
    code: "bad_request",
    data: { reason: "work" },
  }) as object;
  expect(() => parseJson(Buffer.from(map(MANY)), 64)).toThrow(refused);
});

describe("a result with too many keys", () => {
  const answerOf = (result: string): Answer => {
    const text = `{"jsonrpc":"2.0","id":1,"result":${result}}`;
    const idStart = text.indexOf('1,"result');
    return Answer.raw({ chunks: [Buffer.from(text)], idStart, idEnd: idStart + 1 });
  };

  it("S1-1: reaches whoever cannot pass on its bytes as one text", () => {
    const result = `{"content":[],"structuredContent":${map(MANY)}}`;
    expect(answerOf(result).result).toEqual({ content: [{ type: "text", text: result }] });
    expect(answerOf(result).isError).toBe(false);
  });

  it("S1-1: so does one of more than 50,000 numbers that JavaScript would change", () => {
    const result = `{"content":[],"structuredContent":{"a":[${"9007199254740993,".repeat(50_000)}1e400]}}`;
    expect(answerOf(result).result).toEqual({ content: [{ type: "text", text: result }] });
  });

  it("stays an error", () => {
    const answer = answerOf(`{"content":[],"isError":true,"structuredContent":${map(MANY)}}`);
    expect(answer.isError).toBe(true);
  });
});
