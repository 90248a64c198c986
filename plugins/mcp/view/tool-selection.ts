import { GatewayError } from "propylon";
import { matchesWildcard } from "propylon/kit";
import type { Contenders, Meaning } from "./contenders.ts";
import type { Named } from "./exposed-names.ts";

/** Longest pattern, in characters. */
const MAX_PATTERN = 256;

/** What an entry of `endpoints.<name>.tools` selects. */
type Matches = (item: Named) => boolean;

/**
 * What `endpoints.<name>.tools` selects: tools of servers, whatever they are called here. An entry is `server/tool`, or the name of
 * a tool that only one server has; `*` stands for any run of characters.
 */
export class ToolSelection {
  /** Entries that are not clear, as sentences. */
  readonly problems: string[] = [];
  readonly #matches: readonly Matches[] | undefined;

  /** @throws {GatewayError} `invalid` for a pattern that is too long */
  constructor(entries: readonly string[] | undefined, contenders: Contenders, separator: string) {
    this.#matches = entries?.map((entry) => this.#read(entry, contenders, separator));
  }

  has(item: Named): boolean {
    return this.#matches?.some((matches) => matches(item)) ?? true;
  }

  #read(entry: string, contenders: Contenders, separator: string): Matches {
    if (entry.length > MAX_PATTERN)
      throw new GatewayError(
        "invalid",
        `The name pattern "${entry.slice(0, 40)}..." is longer than ${MAX_PATTERN} characters.`,
      );
    const [server, ...rest] = entry.split("/") as [string, ...string[]];
    const isQualified = contenders.all.some((each) => matchesWildcard(server, each.server));
    if (rest.length > 0 && isQualified) {
      const tool = rest.join("/");
      return (item) => matchesWildcard(server, item.server) && matchesWildcard(tool, item.name);
    }
    if (entry.includes("*"))
      return ({ name, prefix }) =>
        matchesWildcard(entry, name) || matchesWildcard(entry, `${prefix}${separator}${name}`);
    return this.#only(entry, contenders);
  }

  /** A name alone selects something while it can only mean one thing. */
  #only(entry: string, contenders: Contenders): Matches {
    const [only, ...others] = contenders.meanings(entry);
    if (only && others.length === 0)
      return ({ server, name }) => server === only.server && name === only.name;
    if (only) this.problems.push(ambiguity(entry, [only, ...others]));
    return () => false;
  }
}

function ambiguity(entry: string, meanings: readonly Meaning[]): string {
  const choices = meanings.map(({ server, name }) => `"${server}/${name}"`);
  const some = choices.slice(0, 5).join(" or ") + (choices.length > 5 ? " or ..." : "");
  return `"${entry}" of tools selects nothing: it may mean a tool of several servers. Write ${some}.`;
}
