import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import type { ServerConfig, UpstreamConfig } from "../config/server-schema.ts";
import { GatewayError } from "../errors.ts";
import type { Changes } from "../plugin/hooks.ts";
import { createTyped, type TypedServer } from "../server/server-types.ts";
import type { ManagedServer } from "../server/server-type.ts";
import type { ServerEvent } from "../server/server.ts";
import type { ClientInfo } from "./envelope.ts";
import { Successor } from "./successor.ts";
import { Upstream } from "./upstream.ts";

/** What an {@link UpstreamPool} is made of. */
export interface UpstreamPoolOptions {
  readonly log: Logger;
  /** How the gateway introduces itself to servers. */
  readonly clientInfo: ClientInfo;
  /** Directory that relative paths in server entries start from. */
  readonly cwd: string;
  /** `limits.depth` of the config in use; holds for what servers send too. */
  readonly maxDepth?: () => number;
  /** Receives the events of the servers in use, not of those only planned. */
  onEvent(name: string, event: ServerEvent): void;
}

/** A change of the set of servers, begun but not in use yet. Ends with exactly one `commit` or `abort`. */
export interface UpstreamPlan {
  readonly changes: Changes;
  /** The servers that speak MCP themselves, as they will be. Those that did not change are the very same objects. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** Those and the servers of plugin types, in the order of the config. */
  readonly servers: ReadonlyMap<string, ManagedServer>;
  /** Connects the new servers that speak MCP themselves. */
  start(): void;
  /** Starts the new servers of plugin types; for when their plugins have started. */
  startTyped(): void;
  /**
   * Puts it to use; resolves when the replaced servers are closed, after their calls in flight, at most `drainMs` later. One
   * whose successor is not ready yet serves on until it is, and is its successor's to close.
   * @param arrived resolves when no call is on its way to a replaced server any more; until then they take calls
   */
  commit(drainMs: number, arrived?: Promise<unknown>): Promise<void>;
  /** Takes it back; closes only what the plan created. */
  abort(): Promise<void>;
}

/** A server with what it was made from. */
interface Member {
  readonly config: ServerConfig;
  /** Set for a server of a plugin's type. */
  readonly typed: TypedServer | undefined;
  /** As its plugin made it; the same as {@link server} for one of the core. */
  readonly made: ManagedServer;
  readonly server: ManagedServer;
}

type Members = ReadonlyMap<string, Member>;

/** The servers of a gateway. They outlive reloads: only a changed entry is replaced, beside the old one until committed. */
export class UpstreamPool {
  readonly #options: UpstreamPoolOptions;
  #members: Members = new Map();

  constructor(options: UpstreamPoolOptions) {
    this.#options = options;
  }

  /** The servers in use that speak MCP themselves, in the order of the config. */
  get upstreams(): ReadonlyMap<string, Upstream> {
    return upstreamsOf(this.#members);
  }

  /**
   * Creates what is new or changed, and starts nothing. Entries with `enabled: false` count as absent.
   *
   * @param typed entries of plugin types; all of those in `servers` must be there
   * @throws {GatewayError} when a plugin cannot make its server
   */
  plan(
    servers: Readonly<Record<string, ServerConfig>>,
    typed: ReadonlyMap<string, TypedServer> = new Map(),
  ): UpstreamPlan {
    const before = this.#members;
    const members = new Map<string, Member>();
    const fresh = (): Member[] =>
      [...members].filter(([name, member]) => before.get(name) !== member).map(([, each]) => each);
    try {
      for (const [name, config] of Object.entries(servers)) {
        if (!config.enabled) continue;
        const old = before.get(name);
        const kept = old && isSame(old, config, typed.get(name)) ? old : undefined;
        members.set(name, kept ?? this.#create(name, config, typed.get(name), old));
      }
    } catch (error) {
      void closeAll(fresh(), 0).catch(() => {});
      throw error;
    }
    return {
      changes: compare(before, members),
      upstreams: upstreamsOf(members),
      servers: new Map([...members].map(([name, { server }]) => [name, server])),
      start() {
        for (const { typed: ofPlugin, server } of fresh()) if (!ofPlugin) server.start();
      },
      startTyped() {
        for (const { typed: ofPlugin, server } of fresh()) if (ofPlugin) server.start();
      },
      commit: (drainMs, arrived) => this.#commit(members, drainMs, arrived),
      abort: () => closeAll(fresh(), 0),
    };
  }

  /** Closes every server after its calls in flight, at most after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    await closeAll([...this.#members.values()], graceMs);
    this.#members = new Map();
  }

  #create(
    name: string,
    config: ServerConfig,
    typed: TypedServer | undefined,
    old: Member | undefined,
  ): Member {
    const made =
      "type" in config
        ? createTyped(name, required(name, typed), old?.server.catalogue)
        : this.#createUpstream(name, config, old);
    const server = made instanceof Upstream ? made : new Successor(made, this.#options.log);
    const member = { config, typed, made, server };
    server.on((event) => {
      if (this.#members.get(name) === member) this.#options.onEvent(name, event);
    });
    return member;
  }

  #createUpstream(name: string, config: UpstreamConfig, old: Member | undefined): Upstream {
    const { log, clientInfo, cwd, maxDepth } = this.#options;
    const catalogue = old && { catalogue: old.server.catalogue };
    return new Upstream({
      name,
      config,
      clientInfo,
      cwd,
      log,
      ...(maxDepth && { maxDepth }),
      ...catalogue,
    });
  }

  async #commit(
    members: Members,
    drainMs: number,
    arrived: Promise<unknown> = Promise.resolve(),
  ): Promise<void> {
    const before = this.#members;
    this.#members = members;
    const gone = [...before].filter(([name, member]) => {
      const server = members.get(name)?.server;
      if (server === member.server) return false;
      const close = (graceMs: number): Promise<void> => closeMember(member, graceMs);
      const leave = { before: member.server, arrived, drainMs, close };
      const isReplaced = server instanceof Upstream || server instanceof Successor;
      return !isReplaced || !server.replace(leave);
    });
    await arrived;
    await closeAll(
      gone.map(([, member]) => member),
      drainMs,
    );
  }
}

/** Whether an entry is served by what serves it already: same options, same plugin set up the same way. */
function isSame(old: Member, config: ServerConfig, typed: TypedServer | undefined): boolean {
  return (
    isDeepStrictEqual(old.config, config) &&
    old.typed?.scope === typed?.scope &&
    old.typed?.definition === typed?.definition
  );
}

function compare(before: Members, after: Members): Changes {
  const names = [...after.keys()].toSorted();
  return {
    added: names.filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)).toSorted(),
    changed: names.filter((name) => before.has(name) && before.get(name) !== after.get(name)),
    unchanged: names.filter((name) => before.get(name) === after.get(name)),
  };
}

function required(name: string, typed: TypedServer | undefined): TypedServer {
  if (typed) return typed;
  throw new GatewayError("invalid", `No plugin serves the server "${name}".`);
}

function upstreamsOf(members: Members): ReadonlyMap<string, Upstream> {
  const found = new Map<string, Upstream>();
  for (const [name, { server }] of members) if (server instanceof Upstream) found.set(name, server);
  return found;
}

async function closeAll(members: readonly Member[], graceMs: number): Promise<void> {
  await Promise.all(members.map((member) => closeMember(member, graceMs)));
}

async function closeMember({ server, made, typed }: Member, graceMs: number): Promise<void> {
  await server.close(graceMs);
  typed?.scope.managed.delete(made);
}
