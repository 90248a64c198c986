import { digestOf, toToolName } from "propylon/kit";
import type { Contender, Contenders } from "./contenders.ts";

/** One thing that wants a name on an endpoint. */
export interface Named {
  readonly server: string;
  /** Prefix of its server. */
  readonly prefix: string;
  /** Name at its own server. */
  readonly name: string;
}

/** How names are made; see `endpoints.<name>.naming` in the config. */
export interface NamingRule {
  readonly naming: "none" | "server" | "auto";
  readonly separator: string;
  /** Longest name, in characters. Default: 64. */
  readonly nameLength?: number;
}

/** What came out for one {@link Named}: its exposed name and the prefixed one that means it too, or why it has none. */
export type NameResult =
  | { readonly exposed: string; readonly also?: string }
  | { readonly problem: string };

/** What naming goes by beside the things themselves. */
export interface NamingContext {
  readonly contenders: Contenders;
  /** Servers that clients may have been told this name of. */
  readonly claimants: (name: string) => ReadonlySet<string>;
}

/** Every name of a tool or prompt is made of these: clients reject others. */
const VALID = /^[A-Za-z0-9_.-]+$/;
/** Characters of a digest that tell shortened names apart, and of one where even these are taken. */
const DIGITS = [6, 12] as const;
const NOBODY: ReadonlySet<string> = new Set();
/** Characters of a prefix that stay in a shortened name. */
const MAX_PREFIX = 24;

/**
 * Names a list of things, one after the other: there may be thousands. Pure: the same input gives the same names, in order; no two
 * share a name, and every name is valid. A name that could mean something else is prefixed; one that clients reject is shortened,
 * with a digest at its end.
 */
export function* exposeNames(
  items: readonly Named[],
  rule: NamingRule,
  context: NamingContext,
): Generator<NameResult, void, undefined> {
  const naming = new Naming(rule, context);
  for (const item of items) yield naming.name(item);
}

class Naming {
  readonly #rule: NamingRule;
  readonly #context: NamingContext;
  readonly #taken = new Set<string>();
  /** Names that are given, by server and by name there. */
  readonly #given = new Map<string, Map<string, string>>();

  constructor(rule: NamingRule, context: NamingContext) {
    this.#rule = rule;
    this.#context = context;
  }

  name(item: Named): NameResult {
    const { server, name } = item;
    let given = this.#given.get(server);
    if (given === undefined) this.#given.set(server, (given = new Map()));
    const twice = given.get(name);
    if (twice !== undefined) return collision(item, item.prefix, twice);
    const holder = this.#holder(item);
    if (holder !== undefined) return collision(item, holder, name);
    const exposed = this.#firstFree(item);
    if (exposed === undefined)
      return { problem: `"${name}" of ${item.prefix} is left out: its names here are all taken.` };
    this.#taken.add(exposed);
    given.set(name, exposed);
    return { exposed };
  }

  #firstFree(item: Named): string | undefined {
    const { server } = item;
    const plain = this.#hasPlain(item) ? this.#fit(item.name, item) : undefined;
    if (this.#isFree(plain, server)) return plain;
    const full = this.#full(item);
    if (this.#isFree(full, server)) return full;
    return DIGITS.map((digits) => this.#short(this.#prefixed(item), item, digits)).find((short) =>
      this.#isFree(short, server),
    );
  }

  #isFree(name: string | undefined, server: string): name is string {
    if (name === undefined || this.#taken.has(name)) return false;
    const claimants = this.#claimants(name);
    return claimants.size === 0 || (claimants.size === 1 && claimants.has(server));
  }

  /** Without prefixes the first server in the order of the config has a name; the others are left out. */
  #holder({ server, name }: Named): string | undefined {
    if (this.#rule.naming !== "none") return undefined;
    const owner = this.#owner(name);
    return owner !== undefined && owner.server !== server && owner.names ? owner.prefix : undefined;
  }

  #owner(name: string): Contender | undefined {
    return this.#context.contenders.owner(name, this.#claimants(name));
  }

  /** On an agent's endpoint what the agent has itself goes ahead, even if it got it after clients were told of another's. */
  #claimants(name: string): ReadonlySet<string> {
    const { contenders, claimants } = this.#context;
    return this.#rule.naming === "none" && contenders.isOwn(name) ? NOBODY : claimants(name);
  }

  #hasPlain({ server, name }: Named): boolean {
    const { contenders } = this.#context;
    if (this.#rule.naming === "server") return false;
    if (this.#rule.naming === "none") return this.#owner(name)?.server === server;
    // It could be the prefixed name of something else.
    if (contenders.prefixed(name).length > 0) return false;
    return !contenders.hasRival(name, server, this.#claimants(name));
  }

  #full(item: Named): string | undefined {
    const full = this.#prefixed(item);
    const means = this.#context.contenders.prefixed(full);
    const isOnly = means.every(({ server, name }) => server === item.server && name === item.name);
    return isOnly ? this.#fit(full, item) : undefined;
  }

  #prefixed({ prefix, name }: Named): string {
    return `${prefix}${this.#rule.separator}${name}`;
  }

  #fit(text: string, item: Named): string {
    const { nameLength = 64 } = this.#rule;
    return text.length <= nameLength && VALID.test(text) ? text : this.#short(text, item, 6);
  }

  /** The same for the same tool, whatever others there are. */
  #short(text: string, { server, prefix, name }: Named, digits: number): string {
    const { nameLength = 64, separator } = this.#rule;
    const isPrefixed = text !== name && prefix.length > MAX_PREFIX;
    const words = isPrefixed ? `${prefix.slice(0, MAX_PREFIX)}${separator}${name}` : text;
    const digest = digestOf(`${server}/${name}`).slice(0, digits);
    const readable = toToolName(words).slice(0, nameLength - digits - 1);
    return `${readable}_${digest}`;
  }
}

function collision(item: Named, other: string, exposed: string): NameResult {
  return {
    problem: `"${item.name}" of ${item.prefix} is left out: "${exposed}" is already "${item.name}" of ${other}.`,
  };
}
