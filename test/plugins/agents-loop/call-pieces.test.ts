import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CallPieces } from "../../../plugins/agents/models/answers/call-pieces.ts";

const NAMES = ["files__read", "files__list", "files__re"];
const known = (): string[] => NAMES;

/** A call as a provider means it. */
const madeCall = fc.record({
  name: fc.constantFrom(...NAMES),
  args: fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
});

/** How a provider marks the pieces of a call. */
const style = fc.record({
  index: fc.constantFrom("own", "same", "none"),
  id: fc.constantFrom("own", "same", "empty", "none", "number"),
  nameInEach: fc.boolean(),
  sizes: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
});
type Style = typeof style extends fc.Arbitrary<infer T> ? T : never;

function cut(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

const INDEX = { own: (at: number) => at, same: () => 0, none: () => undefined };
const ID = {
  own: (at: number) => `id${at}`,
  same: () => "id",
  empty: () => "",
  none: () => undefined,
  number: () => 7,
};

/** The pieces of one call, one behind the other. */
function piecesOf({ name, args }: { name: string; args: object }, at: number, how: Style) {
  const head = { index: INDEX[how.index](at), id: ID[how.id](at) };
  return cut(JSON.stringify(args), how.sizes).map((piece, turn) => ({
    ...head,
    function: { ...((turn === 0 || how.nameInEach) && { name }), arguments: piece },
  }));
}

/** Two calls that are one by everything they say. */
function areAlike(calls: readonly { name: string; args: object }[]): boolean {
  return new Set(calls.map((call) => JSON.stringify(call))).size < calls.length;
}

describe("issue line 6: calls in pieces", () => {
  it("are each there once, with their own name and arguments, however they are marked and cut", () => {
    fc.assert(
      fc.property(fc.array(madeCall, { minLength: 1, maxLength: 4 }), style, (made, how) => {
        fc.pre(!areAlike(made));
        const calls = new CallPieces(known);
        for (const [at, call] of made.entries())
          for (const piece of piecesOf(call, at, how)) calls.take([piece], false);
        const came = calls.finish(false);
        expect(came.map(({ name, args }) => ({ name, args: JSON.parse(args) as object }))).toEqual(
          made.map(({ name, args }) => ({
            name,
            args: JSON.parse(JSON.stringify(args)) as object,
          })),
        );
        expect(new Set(came.map(({ id }) => id)).size).toBe(made.length);
      }),
      { numRuns: 1_000 },
    );
  });

  it("of a whole answer are as many as it has entries, whatever their ids are", () => {
    fc.assert(
      fc.property(fc.array(madeCall, { maxLength: 5 }), style, (made, how) => {
        const calls = new CallPieces(known);
        calls.take(
          made.map(({ name, args }, at) => ({
            id: ID[how.id](at),
            function: { name, arguments: JSON.stringify(args) },
          })),
          true,
        );
        expect(calls.finish(false).map(({ name }) => name)).toEqual(made.map(({ name }) => name));
      }),
    );
  });

  it("never become more or other arguments, whatever arrives", () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom("", "{}", '{"a":1}', "{", null),
    );
    const piece = fc.record(
      {
        index: fc.oneof(fc.nat(2), value),
        id: fc.oneof(fc.constantFrom("a", "b", ""), value),
        function: fc.record(
          { name: fc.oneof(fc.constantFrom(...NAMES), value), arguments: value },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.array(fc.oneof(piece, value), { maxLength: 12 }),
        fc.boolean(),
        (list, isWhole) => {
          const calls = new CallPieces(known);
          for (const each of list) calls.take(each, isWhole);
          const came = calls.finish(false);
          expect(came.length).toBeLessThanOrEqual(list.flat().length);
          expect(new Set(came.map(({ id }) => id)).size).toBe(came.length);
          expect(came.every(({ name }) => name !== "")).toBe(true);
        },
      ),
    );
  });

  it("are put together in bounded time, whatever their number", () => {
    const calls = new CallPieces(known);
    const started = performance.now();
    const piece = { index: 0, id: "a", function: { name: "files__read", arguments: '{"a":1}}' } };
    for (let count = 0; count < 100_000; count++) calls.take([piece], false);
    expect(calls.finish(false).length).toBeLessThanOrEqual(100_000);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
