import fc from "fast-check";
import type { Answer, Call } from "propylon";
import { parseJson } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { encodeCall } from "../../../plugins/servers/wire/envelope.ts";
import { type Awaited, Pending } from "../../../plugins/servers/wire/exchange.ts";
import { findId, isNotice, nextId, readMessage } from "../../../plugins/servers/wire/message.ts";
import { rounds } from "../../fixtures/ci.ts";

function split(text: string, places: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text);
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted(
    (a, b) => a - b,
  );
  return [0, ...at]
    .map((from, index) => bytes.subarray(from, at[index] ?? bytes.length))
    .filter((part) => part.length > 0);
}

/** The answer that stays bytes, with its id. */
function find(
  text: string,
  places: readonly number[] = [],
): { readonly id: string | undefined; readonly answer: Answer } | undefined {
  const { answer, ids } = readMessage(split(text, places), 64);
  return answer && { id: ids[0], answer };
}

describe("readMessage", () => {
  const id = nextId();

  it.each([
    ['{"isError":true}', true],
    ['{"isError":false,"content":[{"isError":true}]}', false],
    ['{"isError":false,"isError":true}', true],
    ['{"isError":1}', false],
    ['{"__proto__":{"isError":true}}', false],
  ])("knows of a small result whether it is a failure: %s", (result, isError) => {
    const { answer } = find(`{"jsonrpc":"2.0","id":"${id}","result":${result}}`)!;
    expect(answer).toMatchObject({ isRpcError: false, isError, isRaw: true });
  });

  it.each([
    ["id first", `{"jsonrpc":"2.0","id":"${id}","result":{"a":"é"}}`],
    ["id last", `{"result":{"a":1},"jsonrpc":"2.0","id":"${id}"}`],
    ["id between", `{"id":"${id}","jsonrpc":"2.0","result":{}}`],
    ["id in the middle", `{"jsonrpc":"2.0","result":{"id":"${id}"},"id":"${id}"}`],
    ["white space", `{ "jsonrpc" : "2.0" , "id" : "${id}" , "result" : { "a" : 1 } } `],
    ["id before jsonrpc at the end", `{"result":{"a":1},"id":"${id}","jsonrpc":"2.0"}`],
  ])("finds the id: %s", (_, text) => {
    for (let place = 1; place < Buffer.byteLength(text); place++) {
      const found = find(text, [place, place + 1]);
      expect(found?.id).toBe(id);
      const encoded = Buffer.concat(
        found!.answer.encode(7).map((piece) => Buffer.from(piece as string)),
      );
      expect(JSON.parse(encoded.toString("utf8"))).toEqual({ ...JSON.parse(text), id: 7 });
    }
  });

  it.each([
    ["an error", `{"jsonrpc":"2.0","id":"${id}","error":{"code":1,"message":""}}`],
    ["an id only inside the result", `{"jsonrpc":"2.0","id":"other","result":{"id":"${id}"}}`],
    ["an id at the end of the result", `{"jsonrpc":"2.0","result":{"id":"${id}"}}`],
    ["another member", `{"jsonrpc":"2.0","id":"${id}","result":{},"x":1}`],
    ["an escaped name", `{"jsonrpc":"2.0","\\u0069d":"${id}","result":{}}`],
    ["no version", `{"id":"${id}","result":{}}`],
    ["another version", `{"jsonrpc":"1.0","id":"${id}","result":{}}`],
    ["a result that is none", `{"jsonrpc":"2.0","id":"${id}","result":[]}`],
    ["a notification", '{"jsonrpc":"2.0","method":"notifications/progress","params":{}}'],
    ["a foreign id", `{"jsonrpc":"2.0","id":"x","result":{}}`],
    ["a request", `{"jsonrpc":"2.0","id":"${id}","method":"ping"}`],
  ])("leaves to the parser: %s", (_, text) => {
    expect(readMessage([Buffer.from(text)], 64)).toMatchObject({
      fault: undefined,
      answer: undefined,
    });
  });

  it("leaves to the parser: bytes that are not UTF-8", () => {
    const text = `{"jsonrpc":"2.0","id":"${id}","result":{"a":"\u00ff"}}`;
    for (let place = 0; place < text.length; place++) {
      const chunks = [text.slice(0, place), text.slice(place)];
      const latin1 = chunks.map((each) => Buffer.from(each, "latin1"));
      expect(readMessage(latin1, 64)).toMatchObject({ fault: undefined, answer: undefined });
    }
  });

  it.each([
    ["shape", "two ids", `{"jsonrpc":"2.0","id":"${id}","result":{},"id":"x"}`],
    ["shape", "two results", `{"jsonrpc":"2.0","id":"${id}","result":{},"result":{}}`],
    ["syntax", "a cut message", `{"jsonrpc":"2.0","id":"${id}","result":{"a":`],
    ["syntax", "a second message", `{"jsonrpc":"2.0","id":"${id}","result":{}}{}`],
    ["syntax", "its id behind the fault", `{"result":{]},"jsonrpc":"2.0","id":"${id}"}`],
    ["depth", "deep", `{"id":"${id}","result":{"a":${"[".repeat(64)}${"]".repeat(64)}}}`],
    ["depth", "its id behind the depth", `{"result":${"[".repeat(64)}]},"id":"${id}"}`],
  ])("refuses (%s) and knows whose answer it was: %s", (fault, _, text) => {
    expect(readMessage([Buffer.from(text)], 64)).toEqual({ fault, ids: [id], answer: undefined });
  });

  it("T5: never takes an id that a parser would not find", () => {
    const ids = fc.constantFrom(id, nextId(), "other", 'quote"d', `,"id":"${id}"`);
    const value = fc.oneof(
      ids,
      fc.integer(),
      fc.dictionary(fc.constantFrom("id", "result", "x", `"id":"${id}"`), ids),
    );
    const message = fc
      .tuple(
        fc.shuffledSubarray(["jsonrpc", "id", "result", "error", "x"]),
        fc.array(value, { minLength: 5, maxLength: 5 }),
      )
      .map(([keys, values]) =>
        Object.fromEntries(
          keys.map((key, index) => [
            key,
            key === "jsonrpc" ? "2.0" : key === "result" ? { value: values[index] } : values[index],
          ]),
        ),
      );
    const property = fc.property(
      message,
      fc.array(fc.nat(300), { maxLength: 5 }),
      (parsed, places) => {
        const found = find(JSON.stringify(parsed), places);
        return found === undefined || found.id === parsed["id"];
      },
    );
    expect(() => fc.assert(property, { numRuns: rounds(20_000) })).not.toThrow();
  });
});

it("finds in a result what a parser finds, and gives the same to the client", () => {
  const id = nextId();
  const results = fc.dictionary(fc.string(), fc.jsonValue());
  const places = fc.array(fc.nat(), { maxLength: 4 });
  fc.assert(
    fc.property(results, fc.boolean(), fc.jsonValue(), places, (result, isFirst, own, cuts) => {
      const message = isFirst ? { jsonrpc: "2.0", id, result } : { result, jsonrpc: "2.0", id };
      const text = JSON.stringify(message);
      const found = find(text, cuts);
      expect(found?.id).toBe(id);
      const clientId = JSON.stringify(own);
      const pieces = found!.answer.encode(clientId).map((piece) => Buffer.from(piece as string));
      expect(JSON.parse(Buffer.concat(pieces).toString())).toEqual({
        ...(JSON.parse(text) as object),
        id: clientId,
      });
    }),
  );
});

it("reads a message in one piece as it reads it in two, whatever is changed in it", () => {
  const id = nextId();
  const inserts = [
    '"',
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "9".repeat(20),
    "é",
    `,"id":"${id}"`,
    ',"result":{}',
    "",
  ];
  const edit = fc.tuple(fc.nat(), fc.constantFrom(...inserts), fc.nat(1));
  const results = fc.dictionary(fc.string(), fc.jsonValue());
  const read = (chunks: readonly Buffer[]): unknown => {
    const { answer, ...rest } = readMessage(chunks, 8);
    return { ...rest, bytes: answer?.encode(7).map(String).join("") };
  };
  fc.assert(
    fc.property(
      results,
      fc.boolean(),
      fc.array(edit, { maxLength: 2 }),
      (result, isFirst, edits) => {
        let text = JSON.stringify(
          isFirst ? { jsonrpc: "2.0", id, result } : { result, jsonrpc: "2.0", id },
        );
        for (const [at, insert, cut] of edits) {
          const place = at % text.length;
          text = text.slice(0, place) + insert + text.slice(place + cut);
        }
        const bytes = Buffer.from(text);
        expect(read([bytes])).toEqual(read([bytes.subarray(0, 1), bytes.subarray(1)]));
      },
    ),
    { numRuns: rounds(1_000) },
  );
});

it("the head of a message tells its id, or that it answers nothing", () => {
  const id = nextId();
  expect(findId(Buffer.from(`{"jsonrpc":"2.0","id":"${id}","result":{"x":"`))).toBe(id);
  expect(findId(Buffer.from(`{"result":{"id":"${id}"`))).toBeUndefined();
  expect(isNotice(Buffer.from(`{"jsonrpc":"2.0","method":"notifications/message","par`))).toBe(
    true,
  );
  expect(isNotice(Buffer.from(`{"result":{"method":1`))).toBe(false);
});

const SENDER = {
  dialect: { era: "legacy", version: "2025-11-25" },
  clientInfo: { name: "gateway", version: "1" },
  takesTasks: false,
  makesTasks: false,
} as const;

/** Texts on both sides of the length from which one is looked at first, with what JSON escapes at any place or at none. */
const long = fc
  .record({
    length: fc.integer({ min: 1_000, max: 1_100 }),
    inside: fc.oneof(
      fc.constantFrom(
        "",
        "\n",
        '"',
        "\\",
        "\u0000",
        "\u001f",
        "\u007f",
        "ü",
        "\u2028",
        "\ud800",
        "😀",
      ),
      fc.string({ unit: "binary", maxLength: 8 }),
    ),
    at: fc.nat(1_100),
  })
  .map(({ length, inside, at }) => {
    const text = "QUJD".repeat(length / 4);
    return text.slice(0, at) + inside + text.slice(at);
  });

const value = fc.oneof(long, fc.jsonValue(), fc.constant(undefined));

it("writes the arguments of a call as JSON.stringify does, long texts too", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "binary" }), value), (args) => {
      const call = {
        method: "tools/call",
        name: "tool",
        args,
      } as unknown as Call;
      const text = encodeCall(SENDER, "1", call, undefined);
      expect(text.slice(text.indexOf('"arguments":'))).toBe(
        `"arguments":${JSON.stringify(args)}}}`,
      );
    }),
    { numRuns: 2_000 },
  );
});

it("keeps a number that JavaScript would change beside a long text", () => {
  const text = `{"file":"${"QUJD".repeat(300)}","id":12345678901234567890}`;
  const call = { method: "tools/call", name: "tool", args: parseJson(Buffer.from(text), 8) };
  expect(encodeCall(SENDER, "1", call as unknown as Call, undefined)).toContain(
    `"arguments":${text}`,
  );
});

const request = (number: number): Awaited => ({
  id: `s-${number.toString(36).padStart(3, "0")}`,
  slot: -1,
  below: undefined,
});

it("finds every request by its id and forgets those that are done, be they one or thousands", () => {
  const pending = new Pending<Awaited>();
  const all = Array.from({ length: 3_000 }, (_, number) => request(number));
  for (const [index, each] of all.entries()) {
    pending.add(each);
    expect(pending.get(all[index >> 1]!.id)).toBe(all[index >> 1]);
  }
  for (const each of all) expect(pending.get(each.id)).toBe(each);
  expect([...pending.values()]).toHaveLength(all.length);
  for (const [index, each] of all.entries()) {
    expect(pending.delete(each)).toBe(true);
    expect(pending.delete(each)).toBe(false);
    expect(pending.get(each.id)).toBeUndefined();
    const next = all[index + 1];
    expect(next && pending.get(next.id)).toBe(next);
  }
  expect([...pending.values()]).toEqual([]);
});
