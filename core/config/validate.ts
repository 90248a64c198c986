import type { z } from "zod";
import { explainIssues, leafIssues, valueAt, type ZodIssue } from "./explain.ts";
import type { ConfigPath, PathIssue } from "./issue.ts";
import { configShape, shapeOf } from "./jsonschema.ts";
import type { Places } from "./places.ts";
import type { GatewayConfig } from "./schema.ts";
import { configSchema } from "./schema.ts";
import type { Shape } from "./shape.ts";

/** A config that passed the schema, or what is wrong with it. */
export type Validated =
  | { readonly config: GatewayConfig; readonly issues: readonly [] }
  | { readonly config: undefined; readonly issues: readonly PathIssue[] };

/**
 * Checks a config value against the schema and fills in defaults.
 *
 * @param places where it stands: texts that came from variables are read as numbers and booleans where those are wanted, and
 *   messages show the variable instead of its value
 * @param sections of plugins, which hints name beside the core's keys
 */
export function validateConfig(
  value: unknown,
  places: Places,
  sections: readonly string[] = [],
): Validated {
  const shape = (): Shape => {
    const added = Object.fromEntries(sections.map((key) => [key, {}]));
    return { ...configShape(), properties: { ...configShape().properties, ...added } };
  };
  const read = validate(configSchema, value, [], shape, places);
  return "issues" in read
    ? { config: undefined, issues: read.issues }
    : { config: read.data, issues: [] };
}

/** A part of a config as a plugin's schema made it, or what is wrong with it. */
export type ReadPart =
  | { readonly written: Readonly<Record<string, unknown>>; readonly options: unknown }
  | { readonly issues: readonly PathIssue[] };

/**
 * Checks a part of a config against the schema of the plugin that it is for; compare {@link validateConfig}.
 *
 * @param path where it stands
 * @param beside what stands there too and is not the plugin's, for hints
 */
export function validatePart(
  schema: z.ZodType,
  written: Readonly<Record<string, unknown>>,
  path: readonly [block: string, name: string],
  places: Places,
  beside?: z.ZodObject,
): ReadPart {
  const shape = (): Shape => {
    const own = shapeOf(schema);
    const properties = { ...(beside && shapeOf(beside).properties), ...own.properties };
    const from: Shape = { ...own, properties };
    return path.reduceRight<Shape>((inner, key) => ({ properties: { [key]: inner } }), from);
  };
  const read = validate(schema, written, path, shape, places);
  return "issues" in read ? read : { written: read.value, options: read.data };
}

/** @param shapeOfAll of the whole config, of which the value is at the path; asked where something is wrong */
function validate<T, V>(
  schema: z.ZodType<T>,
  value: V,
  path: ConfigPath,
  shapeOfAll: () => Shape,
  places: Places,
): { readonly value: V; readonly data: T } | { readonly issues: readonly PathIssue[] } {
  const first = schema.safeParse(value);
  if (first.success) return { value, data: first.data };
  const shape = shapeOfAll();
  const whole = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  const issuesOf = ({ error }: { readonly error: z.ZodError }): ZodIssue[] =>
    error.issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
  const coerced = coerceExpanded(whole, leafIssues(issuesOf(first), whole, shape), places);
  const filled = valueAt(coerced, path) as V;
  const second = coerced === undefined ? first : schema.safeParse(filled);
  if (second.success) return { value: filled, data: second.data };
  const issues = explainIssues(issuesOf(second), whole, shape, places);
  return { issues: issues.map((issue) => hideExpanded(issue, places)) };
}

/**
 * The value with texts that came from variables read as the numbers and booleans that issues ask for; `undefined` when there are
 * none. The value itself stays as it is.
 */
function coerceExpanded(value: unknown, issues: readonly ZodIssue[], places: Places): unknown {
  const changes = issues.flatMap((issue) => {
    const text = places.expandedAt(issue.path as ConfigPath)?.value;
    if (text === undefined) return [];
    const scalars = expectedBy(issue).map((expected) => readScalar(text, expected));
    const scalar = scalars.find((each) => each !== undefined);
    return scalar === undefined ? [] : [{ path: issue.path as ConfigPath, scalar }];
  });
  if (changes.length === 0) return undefined;
  const copy = structuredClone(value);
  for (const { path, scalar } of changes) {
    const owner = valueAt(copy, path.slice(0, -1)) as Record<string | number, unknown>;
    owner[path.at(-1)!] = scalar;
  }
  return copy;
}

/** The types that would do in place of a text; several for a union, e.g. of a number and a word. */
function expectedBy(issue: ZodIssue): readonly string[] {
  if (issue.code === "invalid_type") return [issue.expected];
  if (issue.code !== "invalid_union") return [];
  return issue.errors
    .flat()
    .flatMap((inner) =>
      inner.code === "invalid_type" && inner.path.length === 0 ? [inner.expected] : [],
    );
}

function readScalar(text: string, expected: string): number | boolean | undefined {
  if (expected === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  if (expected !== "number" && expected !== "int") return undefined;
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** Messages quote what they refuse; for a value that came from a variable the variable is quoted instead. */
function hideExpanded(issue: PathIssue, places: Places): PathIssue {
  const from = places.expandedAt(issue.path);
  if (from === undefined) return issue;
  return {
    ...issue,
    message: issue.message.replaceAll(JSON.stringify(from.value), () => JSON.stringify(from.raw)),
  };
}
