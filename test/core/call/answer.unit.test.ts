import fc from "fast-check";
import { Answer, type Json } from "propylon";
import { describe, expect, it } from "vitest";
import { type RawMessage } from "../../../core/call/answer.ts";
import { rounds } from "../../fixtures/ci.ts";

const UPSTREAM_ID = "3f1c9e";

/** A message as it may arrive: member order, white space and id kind vary. */
function messageOf(
  body: Record<string, unknown>,
  idFirst: boolean,
  indent: number,
): { text: string; idStart: number; idEnd: number } {
  const envelope = idFirst
    ? { jsonrpc: "2.0", id: UPSTREAM_ID, ...body }
    : { ...body, jsonrpc: "2.0", id: UPSTREAM_ID };
  const text =
    indent === 0
      ? JSON.stringify(envelope)
      : JSON.stringify(envelope, null, 1).replaceAll("\n", " ");
  const quoted = `"${UPSTREAM_ID}"`;
  const at = idFirst ? text.indexOf(quoted) : text.lastIndexOf(quoted);
  const idStart = Buffer.byteLength(text.slice(0, at));
  return { text, idStart, idEnd: idStart + quoted.length };
}

function rawOf(
  { text, idStart, idEnd }: ReturnType<typeof messageOf>,
  cuts: readonly number[],
): RawMessage {
  const bytes = Buffer.from(text);
  const places = [
    0,
    ...cuts.filter((cut) => cut <= bytes.length).toSorted((a, b) => a - b),
    bytes.length,
  ];
  const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
  return { chunks, idStart, idEnd };
}

function decode(pieces: readonly (string | Buffer)[]): Record<string, unknown> {
  return JSON.parse(
    Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))).toString("utf8"),
  ) as Record<string, unknown>;
}

const results = fc.oneof(
  fc.constant({}),
  fc.record({
    content: fc.array(
      fc.record({ type: fc.constant("text"), text: fc.string({ unit: "grapheme" }) }),
    ),
  }),
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }),
  fc.record({ resultType: fc.constant("input_required"), "}": fc.jsonValue() }),
);

describe("an answer kept as bytes", () => {
  it("encodes with every single chunk border, at every offset", () => {
    const message = messageOf(
      { result: { content: [{ type: "text", text: "grüße 🎈" }] } },
      true,
      0,
    );
    for (let cut = 0; cut <= Buffer.byteLength(message.text); cut++) {
      for (const defaults of [undefined, { resultType: "complete" }]) {
        const encoded = decode(Answer.raw(rawOf(message, [cut])).encode(7, defaults));
        expect(encoded).toStrictEqual({
          jsonrpc: "2.0",
          id: 7,
          result: { ...defaults, content: [{ type: "text", text: "grüße 🎈" }] },
        });
      }
    }
  });

  it("says the same as the parsed message, for any result, cut anywhere, with any id", () => {
    const cuts = fc.array(fc.nat(400), { maxLength: 12 });
    const ids = fc.oneof(fc.integer(), fc.string({ unit: "grapheme" }));
    fc.assert(
      fc.property(
        results,
        cuts,
        ids,
        fc.boolean(),
        fc.constantFrom(0, 1),
        fc.boolean(),
        (result, places, id, idFirst, indent, filled) => {
          const wire = JSON.parse(JSON.stringify(result)) as Record<string, unknown>;
          const defaults = filled ? { resultType: "complete" } : undefined;
          const pieces = Answer.raw(rawOf(messageOf({ result }, idFirst, indent), places)).encode(
            id,
            defaults,
          );
          const text = Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))).toString(
            "utf8",
          );
          expect(JSON.parse(text)).toEqual({
            jsonrpc: "2.0",
            id,
            result: { ...defaults, ...wire },
          });
          expect(text).not.toMatch(/[\r\n]/);
        },
      ),
      { numRuns: rounds(2_000) },
    );
  });

  it("never writes a key of the result twice", () => {
    const message = messageOf({ result: { content: [], resultType: "input_required" } }, true, 0);
    const text = Answer.raw(rawOf(message, []))
      .encode(1, { resultType: "complete" })
      .map(String)
      .join("");
    expect(text.match(/"resultType"/g)).toHaveLength(1);
    expect(text).toContain('"input_required"');
  });

  it("stays bytes when only its id changes, and when a default is put in front", () => {
    const answer = Answer.raw(rawOf(messageOf({ result: { content: [] } }, true, 0), [3, 11]));
    answer.encode(1);
    answer.encode(1, { resultType: "complete" });
    expect(answer.isRaw).toBe(true);
  });

  it("copies its beginning as it arrived, wherever it is cut, and stays bytes", () => {
    const message = messageOf({ result: { content: [], text: "grüße 🎈" } }, true, 0);
    const cut = fc.nat(Buffer.byteLength(message.text) + 5);
    fc.assert(
      fc.property(fc.array(cut, { maxLength: 6 }), cut, fc.nat(9), (cuts, length, at) => {
        const answer = Answer.raw(rawOf(message, cuts));
        const whole = Buffer.from(message.text);
        const target = Buffer.alloc(whole.length + 20, "-");
        const copied = answer.copyRaw(target, at, length);
        expect(copied).toBe(Math.min(length, whole.length));
        expect(target.subarray(at, at + copied).equals(whole.subarray(0, copied))).toBe(true);
        expect(target.toString("latin1", at + copied)).toMatch(/^-+$/);
        expect(answer.isRaw).toBe(true);
      }),
    );
    expect(Answer.result({}).copyRaw(Buffer.alloc(9), 0, 9)).toBe(0);
  });

  it("finds isError across any chunk border", () => {
    fc.assert(
      fc.property(fc.boolean(), fc.array(fc.nat(90), { maxLength: 30 }), (isError, cuts) => {
        const answer = Answer.raw(
          rawOf(messageOf({ result: { content: [], isError } }, true, 0), cuts),
        );
        expect(answer.isError).toBe(isError);
      }),
    );
  });

  it("tells a refusal from a result without parsing the result", () => {
    const result = Answer.raw(rawOf(messageOf({ result: { content: [] } }, true, 0), [20]));
    expect(result.isRpcError).toBe(false);
    expect(result.isRaw).toBe(true);
    const refusal = Answer.raw(
      rawOf(messageOf({ error: { code: -32602, message: "no" } }, true, 0), [20]),
    );
    expect(refusal.isRpcError).toBe(true);
    expect(decode(refusal.encode("x", { resultType: "complete" }))).toStrictEqual({
      jsonrpc: "2.0",
      id: "x",
      error: { code: -32602, message: "no" },
    });
  });

  it("blames the server for bytes that are no JSON once somebody looks", () => {
    const answer = Answer.raw({
      chunks: [Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"isError":tru')],
      idStart: 22,
      idEnd: 23,
    });
    expect(() => answer.isError).toThrow("The server's answer is not valid JSON.");
  });
});

describe("a result with some members changed", () => {
  const edit = {
    names: ["_meta", "resultType"],
    change: ({ _meta }: Json): Json => (_meta === undefined ? {} : { first: _meta }),
  };

  it("is the same in bytes as in values, however it is cut", () => {
    const member = fc.constantFrom(
      "_meta",
      "resultType",
      "content",
      "structuredContent",
      'q"',
      "é",
    );
    const objects = fc.dictionary(member, fc.jsonValue());
    const places = fc.array(fc.nat({ max: 300 }), { maxLength: 4 });
    fc.assert(
      fc.property(objects, fc.boolean(), places, (result, idFirst, cuts) => {
        const raw = rawOf(messageOf({ result }, idFirst, 0), cuts);
        const fromBytes = decode(Answer.raw(raw).encodeEdited(7, edit));
        expect(fromBytes).toEqual(decode(Answer.result(result as Json).encodeEdited(7, edit)));
      }),
    );
  });

  it("keeps every digit of what it does not change, also when it was looked into", () => {
    const text = '{"jsonrpc":"2.0","id":"x","result":{"_meta":{"a":1},"n":12345678901234567890}}';
    const chunks = [Buffer.from(text)];
    const answer = Answer.raw({ chunks, idStart: 22, idEnd: 25 });
    expect(answer.result).toBeDefined();
    const pieces = answer.encodeEdited(7, edit).map(String).join("");
    expect(pieces).toBe(
      '{"jsonrpc":"2.0","id":7,"result":{"first":{"a":1},"n":12345678901234567890}}',
    );
    expect(answer.encode(7).map(String).join("")).toBe(text.replace('"x"', "7"));
  });
});
