import type { z } from "zod";

/** Problems that are told of one value; who mends ten sees the next. */
const MAX_PROBLEMS = 10;
/** Characters of a place and of a sentence: both may quote what a stranger sent. */
const MAX_PLACE = 200;
const MAX_SENTENCE = 500;

/**
 * A problem as programs read it.
 *
 * @example const places = error.data.issues.map(({ path }: Problem) => path);
 */
export interface Problem {
  /** Keys and indexes from the top, joined by dots; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

type Issue = Pick<z.core.$ZodIssue, "path" | "message">;

/**
 * What is wrong with a value, with the place.
 *
 * @param whole what the value itself is called; without it a fault of the whole has no place in front
 * @example const words = problemText(error.issues[0], "arguments"); // servers.0: must be a name
 */
export function problemText(issue: Issue, whole = ""): string {
  const { path, message } = toProblem(issue);
  const place = path || whole;
  return place === "" ? message : `${place}: ${message}`;
}

/**
 * The first problems of a value as sentences, and how many more there are.
 *
 * @param whole as for {@link problemText}
 * @example const words = describeProblems(error.issues, "arguments").join("; ");
 */
export function describeProblems(issues: readonly Issue[], whole = ""): string[] {
  const told = issues.slice(0, MAX_PROBLEMS).map((issue) => problemText(issue, whole));
  const others = issues.length - told.length;
  return others > 0 ? [...told, `and ${others} more`] : told;
}

/**
 * The first problems of a value as data.
 *
 * @example const error = new GatewayError("invalid", message, { data: { issues: toProblems(issues) } });
 */
export function toProblems(issues: readonly Issue[]): Problem[] {
  return issues.slice(0, MAX_PROBLEMS).map(toProblem);
}

function toProblem({ path, message }: Issue): Problem {
  return { path: cut(path.join("."), MAX_PLACE), message: cut(message, MAX_SENTENCE) };
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
