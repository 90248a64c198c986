import type { z } from "zod";
import { isPlainObject } from "../kit/json.ts";
import { type ConfigPath, type PathIssue, pathText } from "./issue.ts";
import type { Places } from "./config.ts";
import {
  type Shape,
  companionsOf,
  descriptionAt,
  keysAt,
  literalsAt,
  marksAt,
  placesOf,
} from "./shape.ts";
import { nearest } from "../kit/spelling.ts";
import { valueAt } from "./value-at.ts";

/** An issue of zod. */
export type ZodIssue = z.core.$ZodIssue;

/**
 * Turns issues of zod into sentences with a next step. Shows no value, except those that are refused by a unit.
 *
 * @param value what was checked
 * @param shape JSON Schema of what was wanted
 * @param places where what was checked stands in a file: sentences name what a person wrote
 */
export function explainIssues(
  issues: readonly ZodIssue[],
  value: unknown,
  shape: Shape,
  places: Places,
): PathIssue[] {
  return leafIssues(issues, value).flatMap((issue) => describe(issue, value, shape, places));
}

/** Replaces unions by the issues of the branch that was meant, with full paths. */
export function leafIssues(
  issues: readonly ZodIssue[],
  value: unknown,
  parent: ConfigPath = [],
): ZodIssue[] {
  return issues.flatMap((issue) => {
    const path = [...parent, ...(issue.path as ConfigPath)];
    const branch =
      issue.code === "invalid_union" ? meantBranch(issue.errors, valueAt(value, path)) : undefined;
    return branch === undefined ? [{ ...issue, path }] : leafIssues(branch, value, path);
  });
}

/** The branch of a union that was meant: the only one for this kind of value, or the one whose keys are nearest. */
function meantBranch(
  errors: readonly (readonly ZodIssue[])[],
  value: unknown,
): readonly ZodIssue[] | undefined {
  const fitting = errors.filter((branch) =>
    branch.every((issue) => issue.path.length > 0 || issue.code === "unrecognized_keys"),
  );
  const strangers = fitting.map((branch) => countStrangers(branch, value));
  const similar = fitting.filter((_, index) => strangers[index] === Math.min(...strangers));
  return similar.length === 1 ? similar[0] : undefined;
}

/** How many keys a value has that a branch does not know, and lacks that it has to have. */
function countStrangers(branch: readonly ZodIssue[], value: unknown): number {
  const counts = branch.map((issue) => {
    if (issue.code === "unrecognized_keys") return issue.path.length === 0 ? issue.keys.length : 0;
    const isMissing = valueAt(value, issue.path as ConfigPath) === undefined;
    return issue.path.length === 1 && (isMissing || issue.code === "invalid_value") ? 1 : 0;
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

function describe(issue: ZodIssue, value: unknown, shape: Shape, places: Places): PathIssue[] {
  const path = issue.path as ConfigPath;
  const written = places.written(path);
  const name = path.length === 0 ? "The config" : pathText(written);
  const meaning = descriptionAt(shape, path);
  const explain =
    meaning === undefined ? `See ${pageOf(path)} for what can stand here.` : `Meaning: ${meaning}`;
  const say = (message: string, hint = explain): PathIssue[] => [
    { path, message: `${name} ${message}.`, hint },
  ];
  const literals = (values: readonly unknown[]): PathIssue[] =>
    say(
      `must be one of ${values.join(", ")}`,
      meant(valueAt(value, path), values.map(String)) ?? explain,
    );
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => unknownKey(key, path, shape, places));
    case "invalid_type":
      return valueAt(value, path) === undefined
        ? say("is missing")
        : say(
            `must be ${KIND[issue.expected] ?? issue.expected}`,
            quoteHint(issue.expected, valueAt(value, path)) ?? explain,
          );
    case "invalid_value":
      return literals(issue.values);
    case "too_small":
      return say(boundText(issue.origin, Number(issue.minimum), issue.inclusive, "least"));
    case "too_big":
      return say(boundText(issue.origin, Number(issue.maximum), issue.inclusive, "most"));
    case "invalid_format":
      return say(
        issue.format === "url"
          ? "must be an http or https URL"
          : "has characters that are not allowed there",
      );
    case "invalid_key": {
      const [reason] = issue.issues;
      const own = reason?.code === "custom" ? reason.message : undefined;
      return [
        {
          path,
          at: "key",
          message: `${JSON.stringify(path.at(-1))} ${own ?? `cannot be a name in ${pathText(written.slice(0, -1))}`}.`,
          hint: own
            ? "Choose another name."
            : "Use 1 to 64 letters, digits, underscores, dots and hyphens.",
        },
      ];
    }
    case "invalid_union":
      return issue.errors.length === 0
        ? literals(literalsAt(shape, path))
        : describeUnion(issue, value, shape, name, explain);
    default:
      return say(issue.message.replace(/^expected /, "must be "), hintOf(issue) ?? explain);
  }
}

/** The next step that a rule of a schema gives on its own: `params: { hint }`. */
function hintOf(issue: ZodIssue): string | undefined {
  const hint: unknown = issue.code === "custom" ? issue.params?.["hint"] : undefined;
  return typeof hint === "string" ? hint : undefined;
}

/** What to do with `PORT: 8080` and `DEBUG: true` where a text is wanted. The value stays unsaid: it may be a secret. */
function quoteHint(expected: string, value: unknown): string | undefined {
  if (expected !== "string" || !["number", "boolean"].includes(typeof value)) return undefined;
  const kind = typeof value === "number" ? "a number" : "true or false";
  return `Put it in quotes. Without them it is ${kind}.`;
}

/** The page that has the options at a path. */
function pageOf([block, name]: ConfigPath): string {
  if (block === "plugins" && name !== undefined) return `the page of the plugin ${name}`;
  return "docs/guide/config.md of the package";
}

function boundText(
  origin: string,
  bound: number,
  inclusive: boolean | undefined,
  side: "least" | "most",
): string {
  const counted = COUNTED[origin];
  if (counted !== undefined) {
    const noun = bound === 1 ? counted.replace(/ies$/, "y").replace(/s$/, "") : counted;
    return `must have at ${side} ${bound} ${noun}`;
  }
  if (inclusive === false) return `must be ${side === "least" ? "more" : "less"} than ${bound}`;
  return `must be at ${side} ${bound}`;
}

/** What has a size rather than a value. */
const COUNTED: Readonly<Record<string, string>> = {
  string: "characters",
  array: "entries",
  set: "entries",
  map: "entries",
  object: "entries",
};

const KIND: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a map",
  record: "a map",
  null: "empty",
};

function describeUnion(
  issue: Extract<ZodIssue, { code: "invalid_union" }>,
  value: unknown,
  shape: Shape,
  name: string,
  explain: string,
): PathIssue[] {
  const path = issue.path as ConfigPath;
  const found = valueAt(value, path);
  const marks = isPlainObject(found) ? marksAt(shape, path) : [];
  if (marks.length > 1)
    return [{ path, message: `${name} must have one of ${marks.join(", ")}.`, hint: explain }];
  const kinds = issue.errors.flat().map((error) => {
    if (error.code === "invalid_type") return KIND[error.expected] ?? error.expected;
    return error.code === "invalid_value" ? error.values.join(" or ") : undefined;
  });
  const choices = [...new Set(kinds.filter((kind) => kind !== undefined))];
  return [
    {
      path,
      message: `${name} must be ${choices.join(" or ") || "something else"}.`,
      hint: explain,
    },
  ];
}

function choice(known: readonly string[]): string {
  if (known.length === 0) return "Nothing can be set here; remove it.";
  return `Known keys here: ${known.join(", ")}.`;
}

function unknownKey(key: string, path: ConfigPath, shape: Shape, places: Places): PathIssue {
  // VS Code writes comments into its mcp.json, which are read as the beginning of the next key here.
  if (/^\/[/*]/.test(key))
    return {
      path: [...path, key],
      at: "key",
      message: "There is a comment here, and JSON does not allow comments.",
      hint: "Remove it, or make the file YAML, where comments start with #.",
    };
  const known = keysAt(shape, path);
  const where =
    path.length === 0 ? "at the top of the config" : `in ${pathText(places.written(path))}`;
  return {
    path: [...path, key],
    at: "key",
    message: `Unknown key ${JSON.stringify(key)} ${where}.`,
    hint:
      elsewhere(key, companionsOf(shape, path, key)) ??
      meant(key, known) ??
      belongs(key, shape) ??
      choice(known),
  };
}

/** A key of another form of the same thing is not a slip of the pen. */
function elsewhere(key: string, companions: readonly string[]): string | undefined {
  if (companions.length === 0) return undefined;
  const names = companions.map((name) => JSON.stringify(name)).join(" and ");
  return `Remove it: ${JSON.stringify(key)} goes with ${names}.`;
}

function belongs(key: string, shape: Shape): string | undefined {
  const places = placesOf(shape, key);
  return places.length > 0 && places.length <= 2
    ? `It belongs in ${places.join(" or ")}.`
    : undefined;
}

function meant(word: unknown, candidates: readonly string[]): string | undefined {
  const similar = typeof word === "string" ? nearest(word, candidates) : undefined;
  return similar === undefined ? undefined : `Did you mean "${similar}"?`;
}
