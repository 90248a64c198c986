import fc from "fast-check";
import type { Json } from "propylon";
import { ExactNumber } from "propylon/kit";
import { expect, it } from "vitest";
import { coerceArguments } from "../../../plugins/openapi/coerce.ts";

const schema: Json = {
  type: "object",
  properties: {
    count: { type: "integer" },
    price: { type: ["number", "null"] },
    gift: { type: "boolean" },
    text: { type: "string" },
    either: { anyOf: [{ type: "string" }, { type: "number" }] },
    list: { type: "array", items: { $ref: "#/properties/count" } },
    self: { $ref: "#" },
  },
};

it.each<[Json, Json]>([
  [
    { count: "1", price: "-2.5e1", gift: "false" },
    { count: 1, price: -25, gift: false },
  ],
  [
    { text: "1", either: "1" },
    { text: "1", either: "1" },
  ],
  [{ list: ["1", 2, "x"] }, { list: [1, 2, "x"] }],
  [{ self: { self: { count: "3" } } }, { self: { self: { count: 3 } } }],
  [
    { count: "1.5", gift: "yes" },
    { count: "1.5", gift: "yes" },
  ],
  [{ count: "9007199254740993" }, { count: new ExactNumber("9007199254740993") }],
  [{ count: "1e400" }, { count: new ExactNumber("1e400") }],
  [{ count: "9007199254740993.5" }, { count: "9007199254740993.5" }],
  [
    { count: "", price: " 1" },
    { count: "", price: " 1" },
  ],
  [{ unknown: "1" }, { unknown: "1" }],
])("reads %j as %j", (given, read) => {
  expect(coerceArguments(schema, given)).toEqual(read);
});

it("changes nothing but texts", () => {
  // A text may spell a number as JSON does not: "0e0", "1.0", "-0".
  const values = fc
    .jsonValue()
    .filter((value) => !/"-?\d+(\.|e|")|"-0/i.test(JSON.stringify(value)));
  const numbers = fc.integer().map(String);
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom("count", "gift", "list", "self"), fc.oneof(values, numbers)),
      (args) => {
        const read = coerceArguments(schema, args);
        expect(JSON.stringify(read).replaceAll('"', "")).toBe(
          JSON.stringify(args).replaceAll('"', ""),
        );
      },
    ),
  );
});
