import { choose } from "../../kit/spelling.ts";
import { matchesWildcard } from "../../kit/wildcard.ts";
import { type OptionSelector } from "../../plugin/definitions.ts";
import { type ConfigPath } from "../../config/issue.ts";
import type { CheckedPlugin } from "./plugin-module.ts";

/** Tools that are looked for in the lists of servers: that is done each time one is told. */
const MAX_TOOLS = 1_000;

/** What there is to select. */
export interface Selectable {
  readonly servers: readonly string[];
  /** Names of `auth.keys`, and that of `auth.apiKey`. */
  readonly keys: readonly string[];
  /** Tools of a server; `undefined` while its list is not known. */
  tools(server: string): readonly string[] | undefined;
}

/** A selector at its place in the config. */
export interface PlacedSelector extends Omit<OptionSelector, "path"> {
  readonly path: ConfigPath;
}

/** A selector that selects nothing. */
export interface UnknownName {
  readonly kind: OptionSelector["kind"];
  readonly path: ConfigPath;
  readonly message: string;
  readonly hint: string;
  readonly isStrict: boolean;
}

/** The selectors in the options of plugins. */
export function selectorsOf(plugins: readonly CheckedPlugin[]): readonly PlacedSelector[] {
  return plugins.flatMap(({ key, needs }) =>
    (needs.selectors ?? []).map((selector) => ({
      ...selector,
      path: ["plugins", key, ...selector.path],
    })),
  );
}

/** Those that select nothing, as far as that is known now. */
export function unknownNames(
  selectors: readonly PlacedSelector[],
  there: Selectable,
): readonly UnknownName[] {
  const tools = selectors.filter(({ kind }) => kind === "tool").slice(0, MAX_TOOLS);
  const others = selectors.filter(({ kind }) => kind !== "tool");
  return [...others, ...tools].flatMap((selector) => {
    const readings = [selector, ...(selector.readings ?? [])];
    if (readings.some((reading) => mayFit(selector.kind, reading, there))) return [];
    const { path, by, kind, name, server, isStrict } = selector;
    const isTool = kind === "tool";
    const known = isTool ? toolsOf(server ?? "*", there) : there[`${kind}s`];
    const shown = isTool ? `${server}/${name}` : name;
    return [
      {
        kind,
        path,
        message: `${by} names a ${kind} "${shown}" that does not exist.`,
        hint: choose(name, known),
        // With a star it may be about what is to come.
        isStrict: isStrict && !isTool && !name.includes("*"),
      },
    ];
  });
}

function mayFit(
  kind: OptionSelector["kind"],
  { name, server = "*" }: Pick<OptionSelector, "name" | "server">,
  there: Selectable,
): boolean {
  if (kind !== "tool") return there[`${kind}s`].some((each) => matchesWildcard(name, each));
  // A pattern may be about what is to come, and a server whose list is not known may have anything.
  if (name.includes("*")) return true;
  const servers = there.servers.filter((each) => matchesWildcard(server, each));
  return (
    servers.length === 0 ||
    servers.some((each) => there.tools(each)?.some((tool) => matchesWildcard(name, tool)) ?? true)
  );
}

function toolsOf(server: string, there: Selectable): readonly string[] {
  return there.servers
    .filter((each) => matchesWildcard(server, each))
    .flatMap((each) => there.tools(each) ?? []);
}
