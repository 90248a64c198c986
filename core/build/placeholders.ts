import { issuesOf, invalidConfig, type ConfigIssue } from "../config/issue.ts";
import type { GatewayError } from "../kit/errors.ts";

/**
 * What stands for a variable that is only set where the gateway runs: the first that its place in the config accepts. They are
 * a key or name, a URL, a number, a switch, a duration.
 */
const CANDIDATES = [
  "not-set-while-building-not-set-while-building",
  "http://not-set-while-building.invalid",
  "0",
  "1",
  "true",
  "30s",
] as const;

const ADVICE = "A variable in it is not set: set it, or write ${NAME:-default}.";

/** Values for variables that are not set while building, found by trying: an image is built without its secrets. */
export class Placeholders {
  /** Which candidate stands at a path. */
  readonly #chosen = new Map<string, number>();
  /** Paths that accept none. */
  readonly #refused = new Set<string>();

  /** What stands in the string at a path. */
  at(path: string): string {
    const chosen = this.#chosen.get(path) ?? 0;
    this.#chosen.set(path, chosen);
    return CANDIDATES[chosen]!;
  }

  /** Takes other values where a config was refused; `false` when there is nothing else to try. */
  change(error: GatewayError): boolean {
    const guilty = [...this.#chosen].filter(
      ([path]) => !this.#refused.has(path) && issuesOf(error).some((issue) => isAbout(issue, path)),
    );
    for (const [path, chosen] of guilty) {
      const isLast = chosen === CANDIDATES.length - 1;
      if (isLast) this.#refused.add(path);
      this.#chosen.set(path, isLast ? 0 : chosen + 1);
    }
    return guilty.length > 0;
  }

  /** The error as its reader understands it: of a value that they did not write only the variable is known. */
  explain(error: GatewayError): GatewayError {
    const issues = issuesOf(error);
    if (issues.length === 0) return error;
    return invalidConfig(
      issues.map((issue) =>
        [...this.#refused].some((path) => isAbout(issue, path))
          ? { ...issue, hint: `${issue.hint} ${ADVICE}` }
          : issue,
      ),
    );
  }
}

/** Whether an issue is that of the string at a path, or of something that it is part of. */
function isAbout({ place: { path: at = "" } }: ConfigIssue, path: string): boolean {
  return at !== "" && path.startsWith(at) && /^(?:$|[.[])/.test(path.slice(at.length));
}
