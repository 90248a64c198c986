import type { z } from "zod";

/** Up to so many values, all problems are looked for; a person who mends a request wants to see them at once. */
const SMALL = 1_000;

/**
 * Stops at the first problem, where the others are not read: `schema.safeParse(value, FIRST_PROBLEM)`. Without it, a sender of 1.9
 * million wrong items decides how long the list of problems gets. zod does so for its own `validate`, which has no words, and leaves the
 * option out of the type; a version without it would look at every item again.
 *
 * @example const { data } = newsSchema.safeParse(news, FIRST_PROBLEM);
 */
export const FIRST_PROBLEM = { abortEarly: true } as z.core.ParseContext<z.core.$ZodIssue>;

/**
 * For what is read once, as a config is: `schema.safeParse(value, READ_ONCE)`. zod compiles a function for each object that it reads,
 * which takes longer than to walk a few hundred of them.
 *
 * @example const { error } = optionsSchema.safeParse(options, READ_ONCE);
 */
export const READ_ONCE = { jitless: true } as const;

/**
 * Checks something that arrived, as `schema.safeParse(value)` does, at bounded cost: all problems of a small value, the first of a
 * large one.
 *
 * @param error words for problems, as zod takes them
 * @returns what `safeParse` returns
 * @example
 * const { data, error } = checkShape(requestSchema, body);
 * if (error) throw new GatewayError("invalid", describeProblems(error.issues).join("; "));
 */
export function checkShape<T>(
  schema: z.ZodType<T>,
  value: unknown,
  error?: z.core.$ZodErrorMap,
): z.ZodSafeParseResult<T> {
  const words = error && { error };
  const first = schema.safeParse(value, { ...FIRST_PROBLEM, ...words });
  return first.success || !isSmall(value) ? first : schema.safeParse(value, words);
}

/**
 * Whether a value holds at most so many values, itself included; looks no further than that.
 *
 * @param max default: so few that a list of all its problems is short
 *
 * @example if (!isSmall(edits, 2_000)) throw new GatewayError("invalid", "These are too many values.");
 */
export function isSmall(value: unknown, max = SMALL): boolean {
  const open = [value];
  for (let seen = 0; open.length > 0; seen++) {
    if (seen + open.length > max) return false;
    const next = open.pop();
    if (typeof next !== "object" || next === null) continue;
    if (Array.isArray(next) && next.length > max) return false;
    for (const key in next) if (open.push((next as never)[key]) > max) return false;
  }
  return true;
}
