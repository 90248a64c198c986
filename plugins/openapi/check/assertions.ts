import type { Json } from "propylon";
import { ExactNumber, isObject } from "propylon/kit";
import { compareNumbers, isInteger, isNumber, toBigInt } from "propylon/internal";
import type { Keyword, Walk } from "./verdict.ts";

/** Characters that are looked at for one unit of work. */
const CHARACTERS = 256;
/** Longest list of allowed values in a message. */
const MAX_LISTED = 200;

/** Keywords about the value itself. A rule of another kind than the specification has asserts nothing. */
export const ASSERTIONS: Readonly<Record<string, Keyword>> = {
  type: (walk, rule, value) => {
    const types: unknown[] = Array.isArray(rule) ? rule : [rule];
    if (!walk.spend(types.length)) return undefined;
    if (types.some((type) => isOfType(type, value))) return true;
    if (types.length === 0 || !types.every((type) => typeof type === "string")) return undefined;
    return walk.fail(`It must be ${types.join(" or ")}, not ${typeOf(value)}.`);
  },
  enum: (walk, rule, value) => {
    if (!Array.isArray(rule)) return true;
    const text = canonical(walk, value);
    const texts = rule.map((allowed) => canonical(walk, allowed));
    if (text === undefined || texts.includes(undefined)) return undefined;
    return texts.includes(text) || walk.fail(`It must be one of ${shorten(texts.join(", "))}.`);
  },
  const: (walk, rule, value) => {
    const [text, wanted] = [canonical(walk, value), canonical(walk, rule)];
    if (text === undefined || wanted === undefined) return undefined;
    return text === wanted || walk.fail(`It must be ${shorten(wanted)}.`);
  },
  minimum: (walk, rule, value, { exclusiveMinimum }) => {
    if (!isNumber(rule) || !isNumber(value)) return true;
    const order = compareNumbers(value, rule);
    // Draft 4 had a boolean beside it.
    if (exclusiveMinimum === true)
      return order > 0 || walk.fail(`It must be more than ${String(rule)}.`);
    return order >= 0 || walk.fail(`It must be at least ${String(rule)}.`);
  },
  maximum: (walk, rule, value, { exclusiveMaximum }) => {
    if (!isNumber(rule) || !isNumber(value)) return true;
    const order = compareNumbers(value, rule);
    if (exclusiveMaximum === true)
      return order < 0 || walk.fail(`It must be less than ${String(rule)}.`);
    return order <= 0 || walk.fail(`It must be at most ${String(rule)}.`);
  },
  exclusiveMinimum: (walk, rule, value) =>
    !isNumber(rule) ||
    !isNumber(value) ||
    compareNumbers(value, rule) > 0 ||
    walk.fail(`It must be more than ${String(rule)}.`),
  exclusiveMaximum: (walk, rule, value) =>
    !isNumber(rule) ||
    !isNumber(value) ||
    compareNumbers(value, rule) < 0 ||
    walk.fail(`It must be less than ${String(rule)}.`),
  multipleOf: (walk, rule, value) => {
    if (!isNumber(rule) || compareNumbers(rule, 0) <= 0 || !isNumber(value)) return true;
    if (typeof value !== "number" || typeof rule !== "number") return isMultiple(walk, value, rule);
    const quotient = value / rule;
    if (Number.isInteger(quotient)) return true;
    // 0.07 is a multiple of 0.01, and binary fractions do not know it.
    if (!Number.isInteger(value) || !Number.isInteger(rule)) {
      const isNear =
        Math.abs(quotient - Math.round(quotient)) < 1e-6 * Math.max(1, Math.abs(quotient));
      if (isNear || !Number.isFinite(quotient)) return undefined;
    }
    return walk.fail(`It must be a multiple of ${String(rule)}.`);
  },
  minLength: (walk, rule, value) => {
    if (typeof rule !== "number" || typeof value !== "string") return true;
    const length = lengthOf(walk, value, rule);
    if (length === undefined) return undefined;
    return length >= rule || walk.fail(`It must have at least ${counted(rule, "character")}.`);
  },
  maxLength: (walk, rule, value) => {
    if (typeof rule !== "number" || typeof value !== "string") return true;
    const length = lengthOf(walk, value, rule);
    if (length === undefined) return undefined;
    return length <= rule || walk.fail(`It must have at most ${counted(rule, "character")}.`);
  },
  minItems: (walk, rule, value) =>
    typeof rule !== "number" ||
    !Array.isArray(value) ||
    value.length >= rule ||
    walk.fail(`It must have at least ${counted(rule, "item")}.`),
  maxItems: (walk, rule, value) =>
    typeof rule !== "number" ||
    !Array.isArray(value) ||
    value.length <= rule ||
    walk.fail(`It must have at most ${counted(rule, "item")}.`),
  uniqueItems: (walk, rule, value) => {
    if (rule !== true || !Array.isArray(value)) return true;
    const texts = new Set<string>();
    for (const item of value) {
      // Comparing each with each would take minutes for a body within the limit.
      const text = canonical(walk, item);
      if (text === undefined) return undefined;
      texts.add(text);
    }
    return texts.size === value.length || walk.fail("Its items must all be different.");
  },
  minProperties: (walk, rule, value) =>
    typeof rule !== "number" ||
    !isObject(value) ||
    Object.keys(value).length >= rule ||
    walk.fail(`It must have at least ${counted(rule, "member")}.`),
  maxProperties: (walk, rule, value) =>
    typeof rule !== "number" ||
    !isObject(value) ||
    Object.keys(value).length <= rule ||
    walk.fail(`It must have at most ${counted(rule, "member")}.`),
  required: (walk, rule, value) => {
    if (!Array.isArray(rule) || !isObject(value)) return true;
    return requireAll(walk, rule, value);
  },
  dependentRequired: (walk, rule, value) => {
    if (!isObject(rule) || !isObject(value)) return true;
    if (!walk.spend(Object.keys(rule).length)) return undefined;
    const asked = Object.entries(rule).filter(([key]) => Object.hasOwn(value, key));
    const names = asked.flatMap(([, list]) => (Array.isArray(list) ? (list as unknown[]) : []));
    return requireAll(walk, names, value);
  },
};

/** Of integers to the last digit; with a fraction that JavaScript rounds, only the server can say. */
function isMultiple(
  walk: Walk,
  value: number | ExactNumber,
  rule: number | ExactNumber,
): boolean | undefined {
  const [whole, divisor] = [toBigInt(value), toBigInt(rule)];
  if (whole === undefined || divisor === undefined) return undefined;
  return whole % divisor === 0n || walk.fail(`It must be a multiple of ${String(rule)}.`);
}

/** Whether an object has all of those members. */
export function requireAll(
  walk: Walk,
  names: readonly unknown[],
  value: Json,
): boolean | undefined {
  if (!walk.spend(names.length)) return undefined;
  const missing = names.filter(
    (name): name is string => typeof name === "string" && !Object.hasOwn(value, name),
  );
  for (const name of missing) walk.fail("It is missing.", name);
  return missing.length === 0;
}

function isOfType(type: unknown, value: unknown): boolean {
  if (type === "number") return isNumber(value);
  if (type === "integer") return isInteger(value);
  return type === typeOf(value);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (isNumber(value)) return "number";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Code points, counted only where the number of UTF-16 units leaves it open. */
function lengthOf(walk: Walk, text: string, bound: number): number | undefined {
  if (text.length < bound || text.length / 2 > bound) return text.length;
  if (!walk.spend(text.length / CHARACTERS)) return undefined;
  let length = 0;
  for (const _character of text) length++;
  return length;
}

/** A JSON value as text, the same for equal values. `undefined` when that is too much work. */
function canonical(walk: Walk, value: unknown): string | undefined {
  if (typeof value === "string" && !walk.spend(value.length / CHARACTERS)) return undefined;
  if (!walk.spend(1)) return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item) => canonical(walk, item));
    return items.includes(undefined) ? undefined : `[${items.join(",")}]`;
  }
  // -0 and 0 are one number, and both are written 0.
  if (value instanceof ExactNumber) return canonicalNumber(value);
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .toSorted()
    .map((key) => [JSON.stringify(key), canonical(walk, value[key])]);
  if (members.some(([, text]) => text === undefined)) return undefined;
  return `{${members.map((member) => member.join(":")).join(",")}}`;
}

/** One text for `1e400` and `10e399`. */
function canonicalNumber(value: ExactNumber): string {
  return String(toBigInt(value) ?? value);
}

function shorten(text: string): string {
  return text.length > MAX_LISTED ? `${text.slice(0, MAX_LISTED)}…` : text;
}

/** `1 item`, `2 items`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
