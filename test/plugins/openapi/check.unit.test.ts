import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import type { Json } from "propylon";
import { describe, expect, it } from "vitest";
import { findProblems } from "propylon/plugins/openapi";
import { PATIENCE, rounds } from "../../fixtures/ci.ts";

const names = fc.constantFrom("a", "b", "c");
const numbers = fc.constantFrom(0, 1, 2, 3, 0.5, -1);
const small = fc.constantFrom(0, 1, 2);
const scalars = fc.oneof(
  numbers,
  fc.constantFrom("", "a", "ab", "ä", "😀"),
  fc.boolean(),
  fc.constant(null),
);
const types = fc.constantFrom("string", "number", "integer", "boolean", "null", "object", "array");

const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalars,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(names, tie("value"), { maxKeys: 3 }),
  ),
}));

/** Schemas without a keyword that is left to the server. */
const schemasWith = (...more: readonly fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown> =>
  fc.letrec<{ schema: unknown }>((tie) => {
    const schema = tie("schema");
    const list = fc.array(schema, { minLength: 1, maxLength: 3 });
    const map = fc.dictionary(names, schema, { maxKeys: 3 });
    return {
      schema: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        fc.boolean(),
        fc.record({ type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })) }),
        fc.record({ enum: fc.array(values, { minLength: 1, maxLength: 3 }) }),
        fc.record({ const: values }),
        fc.record({ minimum: numbers, exclusiveMaximum: numbers }, { requiredKeys: [] }),
        fc.record({ maximum: numbers, exclusiveMinimum: numbers }, { requiredKeys: [] }),
        fc.record({ minLength: small, maxLength: small }, { requiredKeys: [] }),
        fc.record(
          { minItems: small, maxItems: small, uniqueItems: fc.boolean() },
          { requiredKeys: [] },
        ),
        fc.record({ multipleOf: fc.constantFrom(1, 2, 3) }),
        fc.record(
          {
            properties: map,
            required: fc.uniqueArray(names),
            additionalProperties: schema,
            minProperties: small,
          },
          { requiredKeys: [] },
        ),
        fc.record({ propertyNames: schema, maxProperties: small }, { requiredKeys: [] }),
        fc.record({ items: schema, prefixItems: list }, { requiredKeys: [] }),
        fc.record({ contains: schema, minContains: small }, { requiredKeys: ["contains"] }),
        fc.record({ allOf: list }),
        fc.record({ anyOf: list }),
        fc.record({ oneOf: list }),
        fc.record({ not: schema }),
        // eslint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
        fc.record({ if: schema, then: schema, else: schema }, { requiredKeys: ["if"] }),
        fc.record({ dependentRequired: fc.dictionary(names, fc.uniqueArray(names)) }),
        fc.record({ dependentSchemas: map }),
        ...more,
      ),
    };
  }).schema;

/** Definitions hold no references, so that there are no circles. */
const plain = schemasWith();
const referring = schemasWith(fc.record({ $ref: fc.constantFrom("#/$defs/a", "#/$defs/b") }));

describe("arguments against a server's schema", () => {
  it("judges as an independent validator does", () => {
    fc.assert(
      fc.property(referring, plain, plain, values, (root, a, b, value) => {
        const schema = { allOf: [root], $defs: { a, b } } as Json;
        const { valid } = new Validator(structuredClone(schema), "2020-12", false).validate(value);
        expect(findProblems(schema, value).length === 0).toBe(valid);
      }),
      { numRuns: rounds(3_000) },
    );
  });

  it.each<[string, unknown, unknown, string[]]>([
    [
      "type",
      { properties: { a: { type: "string" } } },
      { a: 1 },
      ["a: It must be string, not number."],
    ],
    ["required", { required: ["a", "b"] }, { a: 1 }, ["b: It is missing."]],
    [
      "nested",
      { properties: { a: { items: { required: ["x"] } } } },
      { a: [{ x: 1 }, {}] },
      ["a.1.x: It is missing."],
    ],
    [
      "additional",
      { properties: {}, additionalProperties: false },
      { z: 1 },
      ["z: It is not expected here."],
    ],
    [
      "enum",
      { properties: { a: { enum: ["x", 1] } } },
      { a: "y" },
      ['a: It must be one of "x", 1.'],
    ],
    [
      "tuple of draft 7",
      { properties: { a: { items: [{ type: "string" }], additionalItems: false } } },
      { a: ["x", 1] },
      ["a: It must have at most 1 item."],
    ],
    [
      "boolean bound of draft 4",
      { properties: { a: { minimum: 1, exclusiveMinimum: true } } },
      { a: 1 },
      ["a: It must be more than 1."],
    ],
    [
      "own $id",
      {
        $id: "urn:x",
        properties: { a: { $ref: "urn:x#/$defs/n" } },
        $defs: { n: { type: "null" } },
      },
      { a: 1 },
      ["a: It must be null, not number."],
    ],
    [
      "$ref of draft 7 stands alone",
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        properties: { a: { $ref: "#/definitions/n", type: "string" } },
        definitions: { n: {} },
      },
      { a: 1 },
      [],
    ],
    [
      "a key named __proto__",
      { properties: JSON.parse('{"__proto__":{"type":"string"}}') },
      JSON.parse('{"__proto__":1}'),
      ["__proto__: It must be string, not number."],
    ],
  ])("says where and what: %s", (_, schema, value, words) => {
    const found = findProblems(schema as Json, value);
    expect(found.map(({ path, message }) => `${path}: ${message}`)).toEqual(words);
  });

  it.each<[string, unknown, unknown]>([
    ["a pattern", { properties: { a: { pattern: "^b$" } } }, { a: "x" }],
    ["a format", { properties: { a: { format: "email" } } }, { a: "x" }],
    ["the opposite of a pattern", { properties: { a: { not: { pattern: "^x$" } } } }, { a: "x" }],
    [
      "one pattern of two",
      { oneOf: [{ properties: { a: { pattern: "x" } } }, { properties: { a: { pattern: "y" } } }] },
      { a: "x" },
    ],
    [
      "what a pattern decides",
      // eslint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      { if: { properties: { a: { pattern: "y" } } }, then: false },
      { a: "x" },
    ],
    [
      "what patterns leave over",
      { patternProperties: { "^x": {} }, additionalProperties: false },
      { x1: 1 },
    ],
    ["a name that a pattern allows", { propertyNames: { pattern: "^x" } }, { a: 1 }],
    ["a reference to nowhere", { properties: { a: { $ref: "#/$defs/none" } } }, { a: 1 }],
    ["another document", { properties: { a: { $ref: "https://example.com/a.json" } } }, { a: 1 }],
    [
      "a circle",
      { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" },
      {},
    ],
  ])("leaves to the server: %s", (_, schema, value) => {
    expect(findProblems(schema as Json, value)).toEqual([]);
  });

  it("still finds what is wrong beside a pattern", () => {
    const schema = { properties: { a: { type: "string", pattern: "(x+x+)+y", maxLength: 3 } } };
    expect(findProblems(schema, { a: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" })).toHaveLength(1);
  });

  // Each of these takes minutes or for ever, if nothing counts the work.
  it.each<[string, unknown, unknown]>([
    [
      "branches that double at each level",
      { $ref: "#/$defs/l0", $defs: doubling(60, (next) => ({ allOf: [next, next] })) },
      {},
    ],
    [
      "alternatives that double at each level",
      {
        $ref: "#/$defs/l0",
        $defs: doubling(60, (next) => ({
          anyOf: [{ allOf: [next, false] }, { allOf: [next, false] }],
        })),
      },
      {},
    ],
    [
      "a schema that doubles with the value's depth",
      {
        $defs: {
          n: {
            properties: {
              c: { anyOf: [{ $ref: "#/$defs/n" }, { $ref: "#/$defs/n" }] },
              leaf: false,
            },
          },
        },
        $ref: "#/$defs/n",
      },
      nest(50),
    ],
    [
      "a long list of equal-looking items",
      { properties: { a: { uniqueItems: true } } },
      { a: Array.from({ length: 300_000 }, (_, n) => ({ n })) },
    ],
    [
      "a long list against a long list",
      { properties: { a: { items: { enum: Array.from({ length: 2_000 }, (_, n) => n) } } } },
      { a: Array.from({ length: 300_000 }, () => 1) },
    ],
  ])("gives up in time: %s", (_, schema, value) => {
    expect(findProblems(schema as Json, value)).toEqual([]);
  });

  const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`x-${n}`, n]));
  const long = "l".repeat(4_000);

  it.each<[string, Json]>([
    ["few keys", doubling(60, (next) => ({ allOf: [next, next] }))],
    ["many keys", doubling(60, (next) => ({ ...many, allOf: [next, next] }))],
    ["long names", doubling(60, (next) => ({ allOf: [next, next] }), long)],
  ])("attacks S3-4: a schema that doubles at each level does not hold the loop: %s", (_, $defs) => {
    const schema = { $ref: `#/$defs/${Object.keys($defs)[0]}`, $defs };
    const times = Array.from({ length: 3 }, () => {
      const from = process.cpuUsage();
      findProblems(schema, { a: 1 });
      const { user, system } = process.cpuUsage(from);
      return (user + system) / 1_000;
    });
    // It takes 5 to 50 ms, and three times that where a host lends its cores to others.
    expect(Math.min(...times)).toBeLessThan(250 * PATIENCE);
  });
});

function doubling(levels: number, make: (next: Json) => Json, name = "l"): Json {
  const all = Array.from({ length: levels }, (_, n) => [
    `${name}${n}`,
    make({ $ref: `#/$defs/${name}${n + 1}` }),
  ]);
  return { ...Object.fromEntries(all), [`${name}${levels}`]: true };
}

function nest(depth: number): unknown {
  return depth === 0 ? { leaf: 1 } : { c: nest(depth - 1) };
}
