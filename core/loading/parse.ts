import type { z } from "zod";
import { Config, placeIssue, Places } from "../config/config.ts";
import { explainIssues, leafIssues, valueAt, type ZodIssue } from "../config/explain.ts";
import { invalidConfig, type ConfigPath, type PathIssue } from "../config/issue.ts";
import { configShape, shapeOf } from "./jsonschema.ts";
import { checkNames } from "../config/names.ts";
import { noteRead, readGroups } from "../config/written.ts";
import type { PluginResolver } from "./plugin-module.ts";
import { configSchema, type GatewayConfigInput } from "../config/schema.ts";
import { moveSections } from "./sections.ts";
import type { Shape } from "../config/shape.ts";

/**
 * Reads a config that is an object: checks it against the schema and fills in its defaults.
 *
 * @param resolver finds the plugins that claim sections of it
 * @param source what it is called in messages
 * @throws {GatewayError} `invalid` with every problem in `data.issues`
 */
export function parseConfig(
  input: GatewayConfigInput,
  resolver: PluginResolver,
  source = "the config",
): Promise<Config> {
  const found = [...checkNames(input), ...readGroups(input)];
  return parseValue(input, resolver, new Places(source), new Set(), found);
}

/**
 * Makes the config of a value, and tells all that is wrong with it.
 *
 * @param places where it stands: texts that came from variables are read as numbers and booleans where those are wanted, and
 *   messages show the variable instead of its value
 * @param found what is known to be wrong already
 * @throws {GatewayError} as {@link parseConfig}
 */
export async function parseValue(
  value: unknown,
  resolver: PluginResolver,
  places: Places,
  secrets: ReadonlySet<string>,
  found: readonly PathIssue[],
): Promise<Config> {
  const moved = await moveSections(value, resolver, places);
  const sections = Object.fromEntries(moved.known.map((key) => [key, {}]));
  const shape = (): Shape => ({
    ...configShape(),
    properties: { ...configShape().properties, ...sections },
  });
  const read = validate(configSchema, moved.value, [], shape, places);
  if (!("issues" in read) && found.length + moved.issues.length === 0) {
    noteRead(read.data);
    return new Config(read.data, places, secrets);
  }
  // An unset variable leaves its text in place: problems of that same value would be noise.
  const wrong = ("issues" in read ? read.issues : []).filter(
    (issue) => !places.expandedAt(issue.path)?.isUnset,
  );
  const all = [...found, ...moved.issues, ...wrong];
  throw invalidConfig(all.map((issue) => placeIssue(issue, { places, secrets })));
}

/** A part of a config as a plugin's schema made it, or what is wrong with it. */
export type ReadPart =
  | { readonly written: Readonly<Record<string, unknown>>; readonly options: unknown }
  | { readonly issues: readonly PathIssue[] };

/**
 * Checks a part of a config against the schema of the plugin that it is for; compare {@link parseValue}.
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
