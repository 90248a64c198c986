import { z } from "zod";
import type { ConfigPath, PathIssue } from "../../config/issue.ts";
import type { Part, Places } from "../../config/config.ts";
import { valueAt, withValue } from "../../config/value-at.ts";

/**
 * The value with texts that came from variables read as the numbers and booleans that its schema wants there: a variable is text,
 * and `port: ${PORT}` is a number. A text that the schema takes stays one. The value itself stays as it is.
 *
 * @param path where the value stands in the config
 */
export function coerceExpanded(
  schema: z.ZodType,
  value: unknown,
  path: ConfigPath,
  places: Places,
): unknown {
  const top = places.partAt(path);
  if (!top) return value;
  let coerced = value;
  for (const [at, text] of expandedBelow(top, [])) {
    // A translation may have made something else of it, as of the opposite of enabled.
    if (valueAt(value, at) !== text) continue;
    const readers = schemasAt(schema, at);
    const scalar = scalarOf(text);
    if (scalar === undefined || readers.some((each) => z.safeParse(each, text).success)) continue;
    if (readers.some((each) => isOfType(each, scalar))) coerced = withValue(coerced, at, scalar);
  }
  return coerced;
}

/** Texts that came from variables, by their path. */
function expandedBelow(part: Part, path: ConfigPath): readonly (readonly [ConfigPath, string])[] {
  const own = part.expanded && !part.expanded.isUnset ? [[path, part.expanded.value] as const] : [];
  return [
    ...own,
    ...[...part.parts].flatMap(([key, below]) => expandedBelow(below, [...path, key])),
  ];
}

function scalarOf(text: string): number | boolean | undefined {
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** Whether a schema takes values of that type; one that is too large, say, is for the schema to refuse. */
function isOfType(schema: z.core.$ZodType, value: number | boolean): boolean {
  const read = z.safeParse(schema, value);
  const isOther = ({ code }: z.core.$ZodIssue): boolean =>
    code === "invalid_type" || code === "invalid_union" || code === "invalid_value";
  return read.success || !read.error.issues.some(isOther);
}

/** What reads a value at a path: several below a union, none where anything may stand. */
function schemasAt(
  schema: z.core.$ZodType,
  [key, ...rest]: ConfigPath,
): readonly z.core.$ZodType[] {
  if (key === undefined) return [schema];
  return membersOf(schema, String(key)).flatMap((member) => schemasAt(member, rest));
}

function membersOf(schema: z.core.$ZodType, key: string): readonly z.core.$ZodType[] {
  // A schema of another zod has none.
  const def = (schema as Partial<z.core.$ZodType>)._zod?.def as z.core.$ZodTypes["_zod"]["def"];
  switch (def?.type) {
    case "object":
      return Object.hasOwn(def.shape, key) ? [def.shape[key]!] : def.catchall ? [def.catchall] : [];
    case "record":
      return [def.valueType];
    case "array":
      return [def.element];
    case "tuple":
      return [def.items[Number(key)] ?? def.rest].filter((item) => item != null);
    case "union":
      return def.options.flatMap((option) => membersOf(option, key));
    case "intersection":
      return [def.left, def.right].flatMap((side) => membersOf(side, key));
    case "pipe":
      return membersOf(isTransform(def.in) ? def.out : def.in, key);
    case "lazy":
      return membersOf(def.getter(), key);
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "nonoptional":
    case "readonly":
    case "catch":
      return membersOf(def.innerType, key);
    default:
      return [];
  }
}

function isTransform(schema: z.core.$ZodType): boolean {
  return schema._zod.def.type === "transform";
}

/** Messages quote what they refuse; for a value that came from a variable the variable is quoted instead. */
export function hideExpanded(issue: PathIssue, places: Places): PathIssue {
  const from = places.expandedAt(issue.path);
  if (from === undefined) return issue;
  const { raw, value } = from;
  const message = issue.message.replaceAll(JSON.stringify(value), () => JSON.stringify(raw));
  const hidden = value.split(/[\s"\\]+/).filter((word) => word.length > 2 && !raw.includes(word));
  const isTold = hidden.some((word) => issue.hint.includes(word));
  return { ...issue, message, hint: isTold ? "Correct the value of the variable." : issue.hint };
}
