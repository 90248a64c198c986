import { GatewayError, type Place } from "../kit/errors.ts";
import { isObject } from "../kit/json.ts";

/** A place inside a config: object keys and array indexes from the top. */
export type ConfigPath = readonly (string | number)[];

/** One problem in a config, made for a person: where, what, and what to do next. */
export interface ConfigIssue {
  /** One sentence; holds no secret. */
  readonly message: string;
  /** What to do next, as a sentence. */
  readonly hint: string;
  readonly place: Place;
}

/** A problem whose place is still a path: the loader turns it into line and column. */
export interface PathIssue {
  readonly message: string;
  readonly hint: string;
  readonly path: ConfigPath;
  /** Whether to point at the key (unknown or wrongly named) instead of its value. */
  readonly at?: "key" | "value";
}

/** `servers.search.url`, `endpoints.mcp.servers[0]`, `plugins["./echo.ts"]`. */
export function pathText(path: ConfigPath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else if (/^[\w$-]+$/.test(part)) text += text === "" ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}

/** `gateway.yaml:7:5`, or as much of it as is known; a code config has the path in place of a line. */
export function placeText(place: Place): string {
  if (place.line === undefined) return place.path ? `${place.file} (${place.path})` : place.file;
  return `${place.file}:${place.line}:${place.column ?? 1}`;
}

/** One line for a terminal: `gateway.yaml:7:5 Unknown key "portt" in listeners.main. Did you mean "port"?` */
export function issueText(issue: ConfigIssue): string {
  return `${placeText(issue.place)} ${issue.message} ${issue.hint}`;
}

/**
 * The error of a config that cannot be used: `invalid`, with the first problem of the file as its message and all of them in `data.issues`.
 *
 * @param found at least one
 */
export function invalidConfig(found: readonly ConfigIssue[]): GatewayError {
  const issues = sortByLine(found);
  const first = issues[0]!;
  const others = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  return new GatewayError("invalid", `${placeText(first.place)} ${first.message}${others}`, {
    hint: first.hint,
    place: first.place,
    data: { issues },
  });
}

function sortByLine(issues: readonly ConfigIssue[]): ConfigIssue[] {
  const order = (issue: ConfigIssue): number =>
    (issue.place.line ?? 0) * 10_000 + (issue.place.column ?? 0);
  return issues.toSorted((left, right) => order(left) - order(right));
}

/** The problems that {@link invalidConfig} put into an error; empty for any other error, whose issues may have no place. */
export function issuesOf(error: GatewayError): readonly ConfigIssue[] {
  const issues: unknown = error.data?.["issues"];
  return Array.isArray(issues) && issues.every(isConfigIssue) ? issues : [];
}

function isConfigIssue(issue: unknown): issue is ConfigIssue {
  return isObject(issue) && isObject(issue["place"]) && typeof issue["hint"] === "string";
}
