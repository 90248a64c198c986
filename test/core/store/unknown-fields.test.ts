import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { unknownFields, withUnknown } from "../../../core/store/unknown-fields.ts";

/** What this version knows; another one has more, anywhere. */
const schema = z.object({
  on: z.boolean(),
  who: z.object({ name: z.string() }).exactOptional(),
  tags: z.record(z.string(), z.object({ n: z.number() })),
});

const knownBy = fc.record(
  {
    on: fc.boolean(),
    who: fc.record({ name: fc.string() }),
    tags: fc.dictionary(fc.constantFrom("a", "b", "c"), fc.record({ n: fc.integer() })),
  },
  { requiredKeys: ["on", "tags"] },
);
/** Names that no version has for something else, some of which are dangerous. */
const more = fc.dictionary(
  fc.constantFrom("x", "y", "constructor", "__proto__", "toString"),
  fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text) as unknown),
);
type Known = z.output<typeof schema>;
type Fields = Record<string, unknown>;

/** The fields of one object whose names another does not have. */
const only = (value: Fields, of: object): Fields =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !Object.hasOwn(of, key)));

/** Own fields, whatever they are called. */
const join = (...all: readonly Fields[]): Fields =>
  Object.fromEntries(all.flatMap((each) => Object.entries(each)));

const laterValue = fc.tuple(knownBy, more, more, more).map(([known, top, inWho, inTags]) =>
  join(top, known, {
    ...(known.who && { who: join(inWho, known.who) }),
    tags: Object.fromEntries(
      Object.entries(known.tags).map(([key, tag]) => [key, join(inTags, tag)]),
    ),
  }),
);

it("what an older version writes over a value reads as it wrote it, and has all that only the later one knows", () => {
  fc.assert(
    fc.property(laterValue, knownBy, (stored, written) => {
      const known = schema.parse(stored);
      const text = JSON.stringify(withUnknown(written, unknownFields(stored, known)));
      const there = JSON.parse(text) as Fields;
      expect(schema.parse(there)).toEqual(written);
      expect(only(there, schema.shape)).toEqual(only(stored, schema.shape));
      const inside = (value: Fields, key: string, sub?: string): Fields | undefined => {
        const at = value[key] as Fields | undefined;
        return sub === undefined ? at : (at?.[sub] as Fields | undefined);
      };
      const places: [string, string?][] = [["who"], ["tags", "a"], ["tags", "b"], ["tags", "c"]];
      for (const [key, sub] of places) {
        const before = inside(stored, key, sub);
        const after = inside(there, key, sub);
        const ours = inside(written, key, sub);
        const kept = ours && join(before ? only(before, ours) : {}, ours);
        expect(after).toEqual(kept);
      }
    }),
    { numRuns: 300 },
  );
});

it("a value that the schema knows as a whole has nothing unknown, and nothing is copied", () => {
  fc.assert(
    fc.property(knownBy, (value) => {
      expect(unknownFields(value, schema.parse(value) satisfies Known)).toBeUndefined();
      expect(withUnknown(value, undefined)).toBe(value);
    }),
  );
});
