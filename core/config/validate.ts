import { explainIssues, leafIssues, valueAt, type ZodIssue } from "./explain.ts";
import type { ConfigPath, PathIssue } from "./issue.ts";
import { configShape } from "./jsonschema.ts";
import type { Places } from "./places.ts";
import type { GatewayConfig } from "./schema.ts";
import { configSchema } from "./schema.ts";

/** A config that passed the schema, or what is wrong with it. */
export type Validated =
  | { readonly config: GatewayConfig; readonly issues: readonly [] }
  | { readonly config: undefined; readonly issues: readonly PathIssue[] };

/**
 * Checks a config value against the schema and fills in defaults.
 *
 * @param places where it stands: texts that came from variables are read as numbers and booleans where those are wanted, and
 *   messages show the variable instead of its value
 */
export function validateConfig(value: unknown, places: Places): Validated {
  let parsed = configSchema.safeParse(value);
  if (!parsed.success) {
    const coerced = coerceExpanded(
      value,
      leafIssues(parsed.error.issues, value, configShape()),
      places,
    );
    if (coerced !== undefined) parsed = configSchema.safeParse(coerced);
  }
  if (parsed.success) return { config: parsed.data, issues: [] };
  const issues = explainIssues(parsed.error.issues, value, configShape(), places);
  return { config: undefined, issues: issues.map((issue) => hideExpanded(issue, places)) };
}

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
    if (issue.code !== "invalid_type") return [];
    const text = places.expandedAt(issue.path as ConfigPath)?.value;
    const scalar = text === undefined ? undefined : readScalar(text, issue.expected);
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
