import { parseExact } from "propylon/kit";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../core/index.ts";
import { findProblems } from "propylon/plugins/openapi";

/** Whether a schema takes a number; both as JSON text. */
function takes(schema: string, value: string): boolean {
  return findProblems(parseExact(schema) as Json, parseExact(value)).length === 0;
}

describe("bugs-mcp 3: a number that JavaScript does not hold is checked to its last digit", () => {
  it.each([
    ['{"type":"integer"}', "9007199254740993", true],
    ['{"type":"number"}', "9007199254740993", true],
    ['{"type":["integer","null"]}', "1e400", true],
    ['{"type":"integer"}', "9007199254740993.5", false],
    ['{"type":"string"}', "9007199254740993", false],
    ['{"type":"object"}', "9007199254740993", false],
    ['{"maximum":9007199254740992}', "9007199254740993", false],
    ['{"maximum":9223372036854775807}', "9223372036854775807", true],
    ['{"maximum":9223372036854775807}', "9223372036854775808", false],
    ['{"exclusiveMaximum":9223372036854775808}', "9223372036854775807", true],
    ['{"minimum":-9223372036854775808}', "-9223372036854775808", true],
    ['{"minimum":-9223372036854775808}', "-9223372036854775809", false],
    ['{"exclusiveMinimum":-9223372036854775809}', "-9223372036854775809", false],
    ['{"minimum":0.1}', "0.1000000000000000055511151231257827", true],
    ['{"maximum":0.1}', "0.1000000000000000055511151231257827", false],
    ['{"multipleOf":2}', "9007199254740993", false],
    ['{"multipleOf":3}', "9007199254740993", true],
    ['{"const":9007199254740993}', "9007199254740993", true],
    ['{"const":9007199254740993}', "9007199254740995", false],
    ['{"enum":[1,18446744073709551615]}', "18446744073709551615", true],
    ['{"enum":[1,1e400]}', "10e399", true],
    ['{"uniqueItems":true}', "[9007199254740993,9007199254740995]", true],
    ['{"uniqueItems":true}', "[9007199254740993,9007199254740993]", false],
  ])("%s takes %s: %s", (schema, value, expected) => {
    expect(takes(schema, value)).toBe(expected);
  });
});
