import type { Json } from "propylon";

/** Whether a value matches a schema. `undefined` where only the server can say. */
export type Verdict = boolean | undefined;

/** A place in the arguments and what is wrong there. */
export interface Problem {
  /** Keys joined by dots; `""` for the arguments as a whole. */
  readonly path: string;
  readonly message: string;
}

/** One look at a value, as the keywords see it. */
export interface Walk {
  /** The dialect ignores what stands beside a `$ref` (draft 7 and before). */
  readonly refStandsAlone: boolean;
  /**
   * Whether the value matches the schema.
   *
   * @param key of the value in the one that is looked at, if it is another
   */
  check(schema: unknown, value: unknown, key?: string | number): Verdict;
  /** The same without a word about it, unless {@link Quiet.tell} is called. */
  quietly(schema: unknown, value: unknown): Quiet;
  /** Follows a `$ref`. */
  follow(reference: string): unknown;
  /** Notes what is wrong. */
  fail(message: string, key?: string): false;
  /** Counts work that is not a {@link check}. `false` when too much was done: nothing more can be said. */
  spend(work: number): boolean;
}

/** What a quiet look found. */
export interface Quiet {
  readonly verdict: Verdict;
  /** Notes its problems after all. */
  tell(): void;
}

/** A keyword of JSON Schema: its own value, the value looked at, and the schema it stands in. */
export type Keyword = (walk: Walk, rule: unknown, value: unknown, schema: Json) => Verdict;

/** All must match. */
export function every(verdicts: Iterable<Verdict>): Verdict {
  let all: Verdict = true;
  for (const verdict of verdicts) {
    if (verdict === false) all = false;
    else if (verdict === undefined && all === true) all = undefined;
  }
  return all;
}
