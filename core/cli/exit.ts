import { issuesOf, issueText, placeText } from "../config/issue.ts";
import { toGatewayError, wordsOf, type GatewayError } from "../kit/errors.ts";

/** Exit codes of `propylon`; stable, so that scripts can tell what happened. */
export const EXIT = {
  ok: 0,
  /** Wrong usage, or a config that cannot be used. */
  invalid: 1,
  /** The gateway or server cannot be reached. */
  unreachable: 2,
  /** Credentials are missing or wrong. */
  unauthorized: 3,
  /** The tool ran and reported an error. */
  toolError: 5,
} as const;

/** The exit code that tells this failure. */
export function exitCodeOf(error: GatewayError): number {
  if (error.code === "unauthorized" || error.code === "forbidden") return EXIT.unauthorized;
  if (error.code === "upstream_error" || error.code === "timeout" || error.code === "draining")
    return EXIT.unreachable;
  return EXIT.invalid;
}

/** Tells a person on standard error what went wrong and what to do next: sentences, no stack. Returns the exit code. */
export function tellFailure(thrown: unknown): number {
  console.error(failureText(thrown));
  return exitCodeOf(toGatewayError(thrown));
}

/** What went wrong and what to do next, as sentences: a line for each issue of a config. */
export function failureText(thrown: unknown): string {
  const error = toGatewayError(thrown);
  const issues = issuesOf(error);
  if (issues.length > 0) return issues.map(issueText).join("\n");
  // Anything but a GatewayError is a bug: its own words help more than "Internal error.".
  if (error.code === "internal" && thrown instanceof Error)
    return `This is a bug in Propylon or a plugin: ${thrown.message}`;
  const place =
    error.place !== undefined && !error.message.includes(error.place.file)
      ? `${placeText(error.place)} `
      : "";
  return `${place}${wordsOf(error)}`;
}
