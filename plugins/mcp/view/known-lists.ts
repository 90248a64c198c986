import { z } from "zod";
import type { Catalogue, Server } from "propylon";
import { type Listed, isObject, setTicker, setTimer } from "propylon/kit";
import type { EndpointHost } from "propylon/internal";
import { type Kv, storeKey } from "propylon/store";

/** What has names on an endpoint. */
export type NamedKind = Listed["kind"];

const KINDS = ["tool", "prompt", "resource", "resourceTemplate"] as const;

/** Names that are kept for one kind of things of a server: a server decides how many it has. */
const MAX_NAMES = 20_000;
/** The same in characters: URIs may be long. */
const MAX_CHARACTERS = 1_000_000;
/** Servers that have left the config and that are remembered. */
const MAX_DEPARTED = 1_000;
/** How long a server that has left the config keeps its names, in milliseconds. */
const TTL_MS = 30 * 86_400_000;
/** A server that is configured is written as often, so that its record does not end. */
const REFRESH_MS = 86_400_000;
/** Changes of so many milliseconds are one write. */
const SAVE_MS = 200;

const namesSchema = z.array(z.string()).max(MAX_NAMES).default([]);
const byKindSchema = z.object({
  tool: namesSchema,
  prompt: namesSchema,
  resource: namesSchema,
  resourceTemplate: namesSchema,
});

/** What the store keeps of one server at one endpoint. */
const recordSchema = z.object({
  server: z.string(),
  /** As the server named things when it was last there; absent for one that never was. */
  lists: byKindSchema.optional(),
  hasResources: z.boolean().default(false),
  /** Names here that clients were told. */
  told: byKindSchema,
});
type KnownRecord = z.output<typeof recordSchema>;

/** The same, to look things up. */
class Known {
  /** Of the lists that are in {@link names}. */
  hash: string | undefined;
  names: Record<NamedKind, ReadonlySet<string>> | undefined;
  hasResources = false;
  readonly told: Record<NamedKind, Set<string>> = byKind(() => new Set());
  /** The server alone, which is the only one of almost every name. */
  readonly alone: ReadonlySet<string>;

  constructor(server: string) {
    this.alone = new Set([server]);
  }
}

/** How an endpoint keeps what it knows. */
export interface KnownListsOptions {
  readonly store: EndpointHost["store"];
  readonly endpoint: string;
  readonly log: EndpointHost["log"];
  /** Another replica of the store, or the store at the start, knew more. */
  readonly onLearned: () => void;
}

/**
 * What was last known of every server of an endpoint, and which names clients were told. Names are made of it, so that none means
 * another server because one is late, or gone, or fails. It lives through reloads, and in a store that keeps anything through
 * restarts.
 */
export class KnownLists {
  readonly #servers = new Map<string, Known>();
  /** Servers by the names that clients were told. */
  readonly #claims: Record<NamedKind, Map<string, ReadonlySet<string>>> = byKind(() => new Map());
  readonly #changed = new Set<string>();
  readonly #closed = new AbortController();
  #store: (KnownListsOptions & { readonly kv: Kv<KnownRecord> }) | undefined;
  #configured: ReadonlySet<string> = new Set();
  #saving: NodeJS.Timeout | undefined;
  /** Resolves when all is there that the store knows; `undefined` afterwards. */
  loading: Promise<void> | undefined;

  /** Reads what the store knows, and writes there from now on. */
  keep(options: KnownListsOptions): void {
    const { store } = options;
    if (!store.durable && !store.shared) return;
    const kv = store.kv("names", { schema: recordSchema, ttl: TTL_MS });
    this.#store = { ...options, kv };
    this.loading = this.#load().finally(() => {
      this.loading = undefined;
      options.onLearned();
    });
    const refresh = setTicker(() => this.#refresh(), REFRESH_MS).unref();
    this.#closed.signal.addEventListener("abort", () => clearInterval(refresh), { once: true });
  }

  /** Names that a server has, or had when it was last there; `undefined` for one that never told any. */
  names(server: string, kind: NamedKind): ReadonlySet<string> | undefined {
    return this.#servers.get(server)?.names?.[kind];
  }

  /** Whether a server had resources when it was last there. */
  hasResources(server: string): boolean {
    return this.#servers.get(server)?.hasResources ?? false;
  }

  /** Servers that clients were told a name of, those that have left included. */
  claimants(kind: NamedKind, name: string): ReadonlySet<string> {
    return this.#claims[kind].get(name) ?? NOBODY;
  }

  /** Notes that clients are told a name. The names of one server do not drive out those of another. */
  claim(kind: NamedKind, name: string, server: string): void {
    if (this.#claim(kind, name, server)) this.#save(server);
  }

  /** Notes what servers have, as far as they say. */
  learn(servers: readonly Server[]): void {
    this.#configured = new Set(servers.map(({ name }) => name));
    for (const { name, catalogue, status } of servers) {
      if (!isKnown({ catalogue, status })) continue;
      const known = this.#known(name);
      if (known.hash === catalogue.hash && known.names) continue;
      known.hash = catalogue.hash;
      known.names = namesOf(catalogue);
      known.hasResources = isObject(catalogue.capabilities["resources"]);
      this.#save(name);
    }
    for (const gone of this.#departed().slice(0, -MAX_DEPARTED)) this.#forget(gone);
  }

  close(): void {
    this.#closed.abort();
    clearTimeout(this.#saving);
    void this.#write();
  }

  #known(server: string): Known {
    let known = this.#servers.get(server);
    if (!known) this.#servers.set(server, (known = new Known(server)));
    return known;
  }

  #claim(kind: NamedKind, name: string, server: string): boolean {
    const { told } = this.#known(server);
    if (told[kind].has(name)) return false;
    told[kind].add(name);
    const claims = this.#claims[kind];
    const others = claims.get(name);
    claims.set(name, others ? new Set([...others, server]) : this.#known(server).alone);
    if (told[kind].size > MAX_NAMES) {
      const [oldest] = told[kind];
      this.#release(kind, oldest!, server);
    }
    return true;
  }

  #release(kind: NamedKind, name: string, server: string): void {
    this.#servers.get(server)?.told[kind].delete(name);
    const claims = this.#claims[kind];
    const others = [...(claims.get(name) ?? NOBODY)].filter((claimant) => claimant !== server);
    if (others.length > 0) claims.set(name, new Set(others));
    else claims.delete(name);
  }

  #forget(server: string): void {
    for (const kind of KINDS)
      for (const name of this.#servers.get(server)!.told[kind]) this.#release(kind, name, server);
    this.#servers.delete(server);
  }

  /** Reads all, and follows what other replicas write. */
  async #load(): Promise<void> {
    const { kv, store, endpoint, log, onLearned } = this.#store!;
    const prefix = `${storeKey(endpoint)}/`;
    try {
      if (!store.shared) for await (const { value } of kv.list(prefix)) this.#merge(value);
      else {
        const stop = await kv.watch(prefix, (_key, entry) => {
          if (entry && this.#merge(entry.value) && !this.loading) onLearned();
        });
        if (this.#closed.signal.aborted) await stop();
        else this.#closed.signal.addEventListener("abort", () => void stop(), { once: true });
      }
    } catch (err) {
      log.warn({ err, endpoint }, "the names that clients know could not be read from the store");
    }
    for (const server of this.#servers.keys()) this.#save(server);
  }

  /** @returns whether something was new */
  #merge({ server, lists, hasResources, told }: KnownRecord): boolean {
    const isNew = !this.#servers.has(server);
    if (isNew && this.#departed().length >= MAX_DEPARTED) return false;
    const known = this.#known(server);
    let isChanged = isNew;
    // What the server says itself counts for more.
    if (!known.names && lists) {
      known.names = byKind((kind) => new Set(lists[kind]));
      known.hasResources = hasResources;
      isChanged = true;
    }
    for (const kind of KINDS)
      for (const name of told[kind]) isChanged = this.#claim(kind, name, server) || isChanged;
    return isChanged;
  }

  #departed(): string[] {
    return [...this.#servers.keys()].filter((server) => !this.#configured.has(server));
  }

  #refresh(): void {
    for (const server of this.#configured) this.#save(server);
  }

  #save(server: string): void {
    if (!this.#store || !this.#configured.has(server)) return;
    this.#changed.add(server);
    this.#saving ??= setTimer(() => void this.#write(), SAVE_MS).unref();
  }

  async #write(): Promise<void> {
    this.#saving = undefined;
    const servers = [...this.#changed];
    this.#changed.clear();
    for (const server of servers) {
      const record = this.#record(server);
      if (!record) continue;
      const { kv, endpoint, log } = this.#store!;
      await kv.put(storeKey(endpoint, server), record).catch((err: unknown) => {
        log.warn({ err, endpoint, server }, "the names of a server could not be kept");
      });
    }
  }

  #record(server: string): KnownRecord | undefined {
    const known = this.#servers.get(server);
    if (!known) return undefined;
    const { names, hasResources, told } = known;
    return {
      server,
      ...(names && { lists: byKind((kind) => bounded(names[kind])) }),
      hasResources,
      told: byKind((kind) => bounded(told[kind])),
    };
  }
}

const NOBODY: ReadonlySet<string> = new Set();

/** Whether a server has said what it has. */
export function isKnown({ catalogue, status }: Pick<Server, "catalogue" | "status">): boolean {
  return catalogue.hash !== "" || status.state === "ready";
}

function byKind<T>(make: (kind: NamedKind) => T): Record<NamedKind, T> {
  const [tool, prompt, resource, resourceTemplate] = KINDS.map(make) as [T, T, T, T];
  return { tool, prompt, resource, resourceTemplate };
}

function namesOf(catalogue: Catalogue): Record<NamedKind, ReadonlySet<string>> {
  return {
    tool: new Set(catalogue.tools.map(({ name }) => name)),
    prompt: new Set(catalogue.prompts.map(({ name }) => name)),
    resource: new Set(catalogue.resources.map(({ uri }) => uri)),
    resourceTemplate: new Set(catalogue.resourceTemplates.map(({ uriTemplate }) => uriTemplate)),
  };
}

/** The newest names that fit into a record. */
function bounded(names: ReadonlySet<string>): string[] {
  let left = MAX_CHARACTERS;
  const newest = [...names].toReversed().slice(0, MAX_NAMES);
  return newest.filter(({ length }) => (left -= length) >= 0).toReversed();
}
