import type { OutputUnit } from "@cfworker/json-schema";
import type { z } from "zod";
import { nearest } from "../../kit/spelling.ts";
import { isObject } from "../../kit/json.ts";

/** Characters of an unknown name that are compared with the known ones, and shown. */
const MAX_NAME = 64;

/** Unknown names that are told. */
const MAX_KEYS = 10;

/** Schemas of zod whose value is a number of JavaScript. */
const NUMBERS: ReadonlySet<string> = new Set(["number", "int"]);

/** What is said of a number that the code of a tool could not hold. */
const OUT_OF_RANGE = "It must be between -9007199254740991 and 9007199254740991.";

/** What is said of something that is not there. */
const MISSING = "It is missing.";

/**
 * Words for what zod found wrong with an argument, as tools of servers are checked over HTTP: a model that reads both learns one
 * language. `undefined` leaves it to zod, and a message that the author of a schema wrote always counts.
 */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return MISSING;
      if (typeof issue.input === "bigint" && NUMBERS.has(issue.expected)) return OUT_OF_RANGE;
      return `It must be ${nameOf(issue.expected)}, not ${typeOf(issue.input)}.`;
    case "too_small":
      return `It must ${boundOf(issue.origin, issue.minimum, issue.inclusive === false ? "more than" : "at least")}.`;
    case "too_big":
      return `It must ${boundOf(issue.origin, issue.maximum, issue.inclusive === false ? "less than" : "at most")}.`;
    case "not_multiple_of":
      return `It must be a multiple of ${issue.divisor}.`;
    case "invalid_value":
      return issue.values.length === 1
        ? `It must be ${shown(issue.values[0])}.`
        : `It must be one of ${issue.values.map(shown).join(", ")}.`;
    default:
      return undefined;
  }
}

/**
 * One sentence for each argument that no tool has, with the one that was probably meant.
 *
 * @param known names that there are at that place
 */
export function describeUnknown(
  path: readonly PropertyKey[],
  keys: readonly string[],
  known: readonly string[],
): string[] {
  return keys.slice(0, MAX_KEYS).map((key) => {
    const name = key.slice(0, MAX_NAME);
    const meant = nearest(name, known);
    const hint = meant === undefined ? "" : ` Did you mean "${meant}"?`;
    return `${[...path, name].join(".")}: It is not expected here.${hint}`;
  });
}

/**
 * The same words for what a JSON Schema found wrong; the validator's own for the rest.
 *
 * @param known names of the arguments
 */
export function describeUnit(
  { keyword, instanceLocation, error }: OutputUnit,
  known: readonly string[],
): string {
  const path = instanceLocation.split("/").slice(1);
  const place = path.join(".");
  const [, name = ""] = /"([^]*)"/.exec(error) ?? [];
  if (keyword === "required") return `${[...path, name].join(".")}: ${MISSING}`;
  if (keyword === "additionalProperties")
    return describeUnknown(path, [name], path.length === 0 ? known : []).join();
  if (keyword !== "type") return `${place || "arguments"}: ${error}`;
  const [, type, expected] = /^Instance type "(\w+)" is invalid\. Expected "([^]*)"\.$/.exec(
    error,
  )!;
  return `${place || "arguments"}: It must be ${expected!.replaceAll('", "', " or ")}, not ${type}.`;
}

/** The names of JSON Schema, which the caller has read. */
function nameOf(expected: string): string {
  if (expected === "int") return "integer";
  return expected === "record" || expected === "map" ? "object" : expected;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint") return "number";
  return isObject(value) ? "object" : typeof value;
}

function boundOf(origin: string, bound: number | bigint, than: string): string {
  const unit = { string: "character", array: "item", set: "item", object: "member" }[origin];
  if (unit === undefined) return `be ${than} ${bound}`;
  return `have ${than} ${bound} ${unit}${bound === 1 ? "" : "s"}`;
}

function shown(value: unknown): string {
  return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}
