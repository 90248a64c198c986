import { GatewayError, type Server } from "propylon";
import { matchesLiterals, matchesWildcard } from "propylon/kit";

/** What every exposed name of a tool or prompt looks like: clients reject others. */
const EXPOSED_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** One thing that wants a name on an endpoint. */
export interface Named {
  /** Prefix of its server. */
  readonly prefix: string;
  /** Name at its own server. */
  readonly name: string;
}

/** How names are made; see `endpoints.<name>.naming` in the config. */
export interface NamingRule {
  readonly naming: "none" | "server" | "auto";
  readonly separator: string;
}

/** What came out for one {@link Named}: its exposed name, or why it has none. */
export type NameResult = { readonly exposed: string } | { readonly problem: string };

/**
 * Names a list of things. Pure: the same input gives the same names, in order; no two share a name, and every name is
 * valid. The first of two that would share a name keeps it.
 */
export function exposeNames(items: readonly Named[], rule: NamingRule): NameResult[] {
  const counts = new Map<string, number>();
  for (const { name } of items) counts.set(name, (counts.get(name) ?? 0) + 1);
  const taken = new Map<string, Named>();
  return items.map((item) => {
    const prefixed =
      rule.naming === "server" || (rule.naming === "auto" && counts.get(item.name)! > 1);
    const exposed = prefixed ? `${item.prefix}${rule.separator}${item.name}` : item.name;
    if (!EXPOSED_NAME.test(exposed)) return { problem: nameProblem(item, exposed) };
    const other = taken.get(exposed);
    if (other !== undefined) return { problem: collision(item, other, exposed) };
    taken.set(exposed, item);
    return { exposed };
  });
}

function nameProblem(item: Named, exposed: string): string {
  const reason =
    exposed.length > 64
      ? `is ${exposed.length} characters long; 64 are allowed`
      : "may only have A-Z a-z 0-9 _ . -";
  return `"${item.name}" of ${item.prefix} is left out: its name here, "${exposed}", ${reason}.`;
}

function collision(item: Named, other: Named, exposed: string): string {
  return `"${item.name}" of ${item.prefix} is left out: "${exposed}" is already "${other.name}" of ${other.prefix}.`;
}

/**
 * Compiles name patterns in which `*` stands for any run of characters.
 *
 * @throws {GatewayError} `invalid` for a pattern longer than 256 characters
 */
export function nameFilter(patterns: readonly string[] | undefined): (name: string) => boolean {
  if (patterns === undefined) return () => true;
  const exact = new Set(patterns.filter((pattern) => !pattern.includes("*")));
  const globs = patterns.filter((pattern) => pattern.includes("*"));
  const long = patterns.find((pattern) => pattern.length > 256);
  if (long !== undefined)
    throw new GatewayError(
      "invalid",
      `The name pattern "${long.slice(0, 40)}..." is longer than 256 characters.`,
    );
  return (name) => exact.has(name) || globs.some((glob) => matchesWildcard(glob, name));
}

interface Entry {
  readonly template: string;
  readonly server: Server;
  /** The text between the expressions. */
  readonly literals: readonly string[];
  readonly weight: number;
}

/**
 * Finds the server that owns a URI by the resource templates. An expression stands for any text: the server itself checks
 * closely, here only the way to it is needed. Where several templates fit, the one with the most literal text wins.
 */
export class UriTemplates {
  readonly #entries: Entry[] = [];

  add(template: string, server: Server): void {
    const literals = literalsOf(template);
    this.#entries.push({ template, server, literals, weight: literals.join("").length });
  }

  /** The server that listed exactly this template. */
  owner(template: string): Server | undefined {
    return this.#entries.find((entry) => entry.template === template)?.server;
  }

  /** The server whose template a URI fits. */
  find(uri: string): Server | undefined {
    let best: Entry | undefined;
    for (const entry of this.#entries) {
      if (entry.weight > (best?.weight ?? -1) && matchesLiterals(entry.literals, uri)) best = entry;
    }
    return best?.server;
  }
}

/** Splits an RFC 6570 template at its expressions, without a regular expression. */
function literalsOf(template: string): string[] {
  const literals: string[] = [];
  let from = 0;
  for (let open = template.indexOf("{"); open >= 0; open = template.indexOf("{", from)) {
    const close = template.indexOf("}", open);
    if (close < 0) break;
    literals.push(template.slice(from, open));
    from = close + 1;
  }
  literals.push(template.slice(from));
  return literals;
}
