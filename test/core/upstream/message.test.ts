import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  findId,
  findResponse,
  findSmallResponse,
  isNotice,
  nextId,
} from "../../../core/upstream/message.ts";

function split(text: string, places: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text);
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted(
    (a, b) => a - b,
  );
  return [0, ...at]
    .map((from, index) => bytes.subarray(from, at[index] ?? bytes.length))
    .filter((part) => part.length > 0);
}

function find(text: string, places: readonly number[] = []): ReturnType<typeof findResponse> {
  const chunks = split(text, places);
  return findResponse(chunks, Buffer.byteLength(text));
}

describe("findResponse", () => {
  const id = nextId();

  it.each([
    ["id first", `{"jsonrpc":"2.0","id":"${id}","result":{"a":"é"}}`],
    ["id last", `{"result":{"a":1},"jsonrpc":"2.0","id":"${id}"}`],
    ["id between", `{"id":"${id}","jsonrpc":"2.0","result":{}}`],
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
    ["two ids", `{"jsonrpc":"2.0","id":"${id}","result":{},"id":"${id}"}`],
    ["a foreign id", `{"jsonrpc":"2.0","id":"x","result":{}}`],
    ["a request", `{"jsonrpc":"2.0","id":"${id}","method":"ping"}`],
    ["a cut message", `{"jsonrpc":"2.0","id":"${id}","result":{"a":`],
  ])("leaves to the parser: %s", (_, text) => {
    expect(find(text)).toBeUndefined();
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
    expect(() => fc.assert(property, { numRuns: 20_000 })).not.toThrow();
  });
});

describe("findSmallResponse", () => {
  const id = nextId();
  const first = (result: string): string => `{"jsonrpc":"2.0","id":"${id}","result":${result}}`;
  const last = (result: string): string => `{"result":${result},"jsonrpc":"2.0","id":"${id}"}`;

  it("finds what a parser finds, and gives the same result to the client", () => {
    const results = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(results, fc.boolean(), fc.jsonValue(), (result, isFirst, clientId) => {
        const text = (isFirst ? first : last)(JSON.stringify(result));
        const found = findSmallResponse([Buffer.from(text)]);
        expect(found?.id).toBe(id);
        const own = JSON.stringify(clientId);
        const pieces = found!.answer.encode(own).map((piece) => Buffer.from(piece as string));
        const encoded: unknown = JSON.parse(Buffer.concat(pieces).toString());
        expect(encoded).toEqual({
          jsonrpc: "2.0",
          id: own,
          result: JSON.parse(JSON.stringify(result)),
        });
      }),
    );
  });

  it.each([
    ["our id a second time", first(`{"a":1},"id":"${nextId()}"`)],
    ["a foreign id behind it", first('{"a":1},"id":5')],
    ["a line break", first('{"a":\n1}')],
    ["a cut end", first('{"a":1}').slice(0, -1).replace("}", "")],
    ["the same words inside the result", last(`{"a":${last("{}")}}`)],
    ["an error", `{"jsonrpc":"2.0","id":"${id}","error":{"code":1,"message":""}}`],
    ["a notification", '{"jsonrpc":"2.0","method":"notifications/progress","params":{}}'],
    ["white space", first("{}").replace(":", ": ")],
  ])("T5: leaves %s to the parser", (_, text) => {
    expect(findSmallResponse([Buffer.from(text)])).toBeUndefined();
  });

  it("leaves a message in two chunks to the parser", () => {
    expect(findSmallResponse(split(first("{}"), [30]))).toBeUndefined();
  });
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
