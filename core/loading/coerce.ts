import { valueAt, type ZodIssue } from "../config/explain.ts";
import type { ConfigPath, PathIssue } from "../config/issue.ts";
import type { Places } from "../config/config.ts";

/**
 * The value with texts that came from variables read as the numbers and booleans that issues ask for; `undefined` when there are
 * none. The value itself stays as it is.
 */
export function coerceExpanded(
  value: unknown,
  issues: readonly ZodIssue[],
  places: Places,
): unknown {
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
export function hideExpanded(issue: PathIssue, places: Places): PathIssue {
  const from = places.expandedAt(issue.path);
  if (from === undefined) return issue;
  return {
    ...issue,
    message: issue.message.replaceAll(JSON.stringify(from.value), () => JSON.stringify(from.raw)),
  };
}
