import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  initialOf,
  toForm,
  toValue,
  withoutPasswords,
  type FormField,
} from "../../../plugins/ui/web/form/schema.ts";

type Json = Record<string, unknown>;

/** Schemas as generators of tools write them. */
const schemas = fc.letrec<{ any: Json; object: Json; leaf: Json }>((tie) => ({
  leaf: fc.oneof(
    fc.record({ type: fc.constant("string"), maxLength: fc.integer({ min: 3, max: 500 }) }),
    fc.record({ type: fc.constantFrom("integer", "number"), minimum: fc.constant(0) }),
    fc.constant({ type: "boolean" }),
    fc.record({
      enum: fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 4 }),
    }),
    fc.constant({ type: ["string", "null"] }),
    fc.constant({ anyOf: [{ type: "integer" }, { type: "null" }], default: null }),
    fc.constant({ $ref: "#/$defs/name" }),
  ),
  any: fc.oneof(
    { maxDepth: 3 },
    tie("leaf"),
    tie("object"),
    tie("leaf").map((items) => ({ type: "array", items })),
  ),
  object: fc
    .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{1,6}$/), tie("any"), fc.boolean()), {
      maxLength: 5,
      minLength: 1,
      selector: ([name]) => name,
    })
    .map((members) => ({
      type: "object",
      properties: Object.fromEntries(members.map(([name, schema]) => [name, schema])),
      required: members.filter(([, , isRequired]) => isRequired).map(([name]) => name),
      $defs: { name: { type: "string", minLength: 1 } },
      additionalProperties: false,
    })),
}));

/** What a visitor fills in who fills in everything. */
function fill(field: FormField): unknown {
  switch (field.kind) {
    case "text":
      return "abc".slice(0, field.maxLength);
    case "number":
      return field.minimum ?? 1;
    case "choice":
      return field.values[0];
    case "list":
      return [fill(field.item)];
    case "group":
      return Object.fromEntries(
        field.members.map(({ name, field: member }) => [name, fill(member)]),
      );
    default:
      return undefined;
  }
}

/** References lead to the root of a schema, also those of a schema in a schema. */
const withDefinitions = (schema: Json): Json => ({
  ...schema,
  $defs: { name: { type: "string", minLength: 1 } },
});

it("6: what a form sends fits the schema, filled in or with the required fields alone", () => {
  fc.assert(
    fc.property(schemas.object, (schema) => {
      const root = withDefinitions(schema);
      const form = toForm(root);
      expect(form.kind).toBe("group");
      const validator = new Validator(root, "2020-12", false);
      expect(validator.validate(toValue(form, fill(form), true)).errors).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

it("6: what is empty and optional is left out", () => {
  const form = toForm({
    type: "object",
    properties: {
      a: { type: "string" },
      b: { type: "object", properties: { c: { type: "number" } } },
      d: { type: "array", items: { type: "string" } },
      e: { type: ["string", "null"] },
    },
    required: ["e"],
  });
  expect(toValue(form, { a: "", b: { c: undefined } }, true)).toEqual({ e: null });
});

it("6: defaults are filled in, and JSON and form say the same", () => {
  const form = toForm({
    type: "object",
    properties: {
      page: { type: "integer", default: 3 },
      deep: { type: "object", properties: { on: { type: "boolean", default: true } } },
    },
  });
  const value = { page: 3, deep: { on: true } };
  expect(initialOf(form)).toEqual(value);
  expect(toValue(form, JSON.parse(JSON.stringify(value)), true)).toEqual(value);
});

it.each([
  ["none", undefined],
  ["a root that is one of several", { anyOf: [{ type: "object" }, { type: "string" }] }],
  [
    "a required property that it does not describe",
    { type: "object", properties: { a: {} }, required: ["b"] },
  ],
  [
    "a circle of references",
    { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
  ],
  ["a reference to elsewhere", { $ref: "https://example.com/schema.json" }],
  ["a reference to what everything has", { $ref: "#/constructor/prototype" }],
])("6: there is a field of JSON for a schema with %s", (_, schema) => {
  expect(toForm(schema).kind).toBe("json");
});

it("6: a schema that holds itself ends in a field of JSON", () => {
  const form = toForm({
    type: "object",
    properties: { name: { type: "string" }, next: { $ref: "#" } },
  });
  expect(JSON.stringify(form).length).toBeLessThan(10_000);
  expect(JSON.stringify(form)).toContain('"kind":"json"');
});

it("a copied request has no password that was typed, wherever it stands", () => {
  const password = { type: "string", format: "password" };
  const form = toForm({
    type: "object",
    properties: {
      name: { type: "string" },
      password,
      old: { type: "array", items: password },
      store: { type: "object", properties: { password, port: { type: "integer" } } },
      none: password,
    },
  });
  const store = { password: "hunter2", port: 5432 };
  const value = { name: "hunter", password: "hunter2", old: ["hunter1"], store };
  const sent = toValue(form, value, true);
  expect(sent).toEqual(value);
  const shown = withoutPasswords(form, sent);
  expect(JSON.stringify(shown)).not.toMatch(/hunter\d/);
  expect(shown).toMatchObject({ name: "hunter", old: ["the password"], store: { port: 5432 } });
  expect(shown).not.toHaveProperty("none");
});
