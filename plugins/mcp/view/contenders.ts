/** A server that may be meant by a name. */
export interface Contender {
  readonly server: string;
  readonly prefix: string;
  /** What it has, or had when it was last there; `undefined`: it never said, and may have anything. */
  readonly names: ReadonlySet<string> | undefined;
  /** Whether a thing of this name would be there for the client. */
  readonly may: (name: string) => boolean;
  /** Whether it would be listed. */
  readonly shows: (name: string) => boolean;
  /** Whether the endpoint is its own, as an agent's is. It is part of the gateway, and never late or gone. */
  readonly isOwn?: boolean;
  /** Whether it runs in this process, as a plugin's tools do: it is never late, and no stranger's. */
  readonly isLocal?: boolean;
}

/** A thing that a text may stand for. */
export interface Meaning {
  readonly server: string;
  readonly name: string;
}

/**
 * Which servers may be meant by a name, by what was last known of all of them and never by who is up. They are in the order of the
 * config.
 */
export class Contenders {
  readonly all: readonly Contender[];
  readonly #separator: string;
  readonly #holders = new Map<string, Contender[]>();
  readonly #unknown: readonly Contender[];
  readonly #own: readonly Contender[];
  readonly #isLocal: ReadonlySet<string>;
  readonly #byPrefix = new Map<string, Contender[]>();
  /** Characters of the longest prefix: a caller decides how long a text is, and how many separators it has. */
  readonly #longest: number;

  constructor(all: readonly Contender[], separator: string) {
    this.all = all;
    this.#separator = separator;
    this.#unknown = all.filter(({ names }) => names === undefined);
    this.#own = all.filter(({ isOwn }) => isOwn === true);
    const local = all.filter(({ isLocal }) => isLocal === true);
    this.#isLocal = new Set(local.map(({ server }) => server));
    for (const contender of all) {
      push(this.#byPrefix, contender.prefix, contender);
      for (const name of contender.names ?? []) push(this.#holders, name, contender);
    }
    this.#longest = all.reduce((longest, { prefix }) => Math.max(longest, prefix.length), 0);
  }

  /** Those that never said what they have, and so may have a thing of this name. */
  unknown(name: string): readonly Contender[] {
    return this.#unknown.filter(({ may }) => may(name));
  }

  /** Those that have, or had, a thing of this name. */
  known(name: string): readonly Contender[] {
    const all = this.#holders.get(name) ?? [];
    return all.every(({ may }) => may(name)) ? all : all.filter(({ may }) => may(name));
  }

  /** Those that have, or may have, a thing of this name. */
  of(name: string): readonly Contender[] {
    const holders = this.known(name);
    return this.#unknown.length === 0 ? holders : [...holders, ...this.unknown(name)];
  }

  /**
   * Whether another server keeps one from the plain name of a thing. One that never said what it has keeps none from what runs in this
   * process, since the tool with which people log in at a server would else have no name until they did; nor from whose the name
   * was when clients were told, since it is given to nobody else.
   */
  hasRival(name: string, server: string, claimants: ReadonlySet<string>): boolean {
    const isSure = this.#isLocal.has(server) || claimants.has(server);
    const found = isSure ? this.known(name) : this.of(name);
    return found.some((other) => other.server !== server);
  }

  /** Whether the server that the endpoint belongs to has a thing of this name. */
  isOwn(name: string): boolean {
    return this.#own.some((contender) => has(contender, name));
  }

  /** What a text means that begins with the prefix of a server. */
  prefixed(text: string): readonly Meaning[] {
    const found: Meaning[] = [];
    const { length } = this.#separator;
    for (
      let at = text.indexOf(this.#separator, 1);
      at > 0 && at <= this.#longest;
      at = text.indexOf(this.#separator, at + 1)
    ) {
      const name = text.slice(at + length);
      for (const contender of this.#byPrefix.get(text.slice(0, at)) ?? [])
        if (has(contender, name)) found.push({ server: contender.server, name });
    }
    return found;
  }

  /** All that a text may stand for: things with their server's prefix, else things of this name. */
  meanings(text: string): readonly Meaning[] {
    const prefixed = this.prefixed(text);
    if (prefixed.length > 0) return prefixed;
    return this.of(text).map(({ server }) => ({ server, name: text }));
  }

  /**
   * Who has a name where only one can: whose it was when clients were told, else the first in the order of the config that has, or
   * may have, a thing of this name. What is hidden takes nobody's place.
   *
   * @param claimants of whom clients were told
   */
  owner(name: string, claimants: ReadonlySet<string>): Contender | undefined {
    const found = new Set(this.of(name));
    const ordered = found.size > 1 ? this.all.filter((each) => found.has(each)) : [...found];
    const among =
      claimants.size > 0 ? ordered.filter((each) => claimants.has(each.server)) : ordered;
    return among.find(({ shows }) => shows(name)) ?? among[0];
  }
}

function has({ names, may }: Contender, name: string): boolean {
  return (names?.has(name) ?? true) && may(name);
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
