import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import type { Changes } from "../plugin/hooks.ts";
import type { Scope } from "./scope.ts";
import { commonOptions, type Config } from "../config/config.ts";
import type { ManagedServer, ServerType } from "../call/server-type.ts";
import type { ServerEvent, Catalogue, Server } from "../call/server.ts";
import { AdaptedServer } from "../server/adapted-server.ts";
import { Successor } from "../server/successor.ts";
import { blame, readAdded } from "./setup.ts";
import { SPELLINGS } from "./check/clients.ts";
import { unserved } from "./check/check.ts";
import { invalidConfig, type PathIssue } from "../config/issue.ts";
import { ENTRY_TYPES, type ServerConfig } from "../config/server-schema.ts";
import { GatewayError } from "../kit/errors.ts";
import { ServerTypes } from "../plugin/config-points.ts";

/** What a {@link ServerPool} is made of. */
export interface ServerPoolOptions {
  readonly log: Logger;
  /** Receives the events of the servers in use, not of those only planned. */
  onEvent(name: string, event: ServerEvent): void;
}

/** A change of the set of servers, begun but not in use yet. Ends with exactly one `commit` or `abort`. */
export interface ServerPlan {
  readonly changes: Changes;
  /** The servers as they will be, in the order of the config. Those that did not change are the very same objects. */
  readonly servers: ReadonlyMap<string, ManagedServer>;
  /** Starts the new servers that a plugin serves; for when the plugin has started. */
  start(scope: Scope): void;
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
  readonly typed: TypedServer;
  /** As its plugin made it. */
  readonly made: ManagedServer;
  readonly server: Successor;
}

type Members = ReadonlyMap<string, Member>;

/** The servers of a gateway. They outlive reloads: only a changed entry is replaced, beside the old one until committed. */
export class ServerPool {
  readonly #options: ServerPoolOptions;
  #members: Members = new Map();

  constructor(options: ServerPoolOptions) {
    this.#options = options;
  }

  /** The servers in use, in the order of the config. */
  get servers(): ReadonlyMap<string, ManagedServer> {
    return serversOf(this.#members);
  }

  /**
   * Creates what is new or changed, and starts nothing. Entries with `enabled: false` count as absent.
   *
   * @param entries in the order of the config
   * @throws {GatewayError} when a plugin cannot make its server
   */
  plan(entries: ReadonlyMap<string, TypedServer>): ServerPlan {
    const before = this.#members;
    const members = new Map<string, Member>();
    const fresh = (): Member[] =>
      [...members].filter(([name, member]) => before.get(name) !== member).map(([, each]) => each);
    try {
      for (const [name, typed] of entries) {
        if (!typed.entry.enabled) continue;
        const old = before.get(name);
        const kept = old && isSame(old, typed) ? old : undefined;
        members.set(name, kept ?? this.#create(name, typed, old));
      }
    } catch (error) {
      void closeAll(fresh(), 0).catch(() => {});
      throw error;
    }
    return {
      changes: compare(before, members),
      servers: serversOf(members),
      start(scope) {
        for (const { typed, server } of fresh()) if (typed.scope === scope) server.start();
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

  #create(name: string, typed: TypedServer, old: Member | undefined): Member {
    const made = createTyped(name, typed, old?.server.catalogue);
    const { log } = this.#options;
    const { libraries, safeKeys } = typed.entry;
    const server =
      libraries || safeKeys
        ? new AdaptedServer(made, log, { libraries, safeKeys })
        : new Successor(made, log);
    const member = { typed, made, server };
    server.on((event) => {
      if (this.#members.get(name) === member) this.#options.onEvent(name, event);
    });
    return member;
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
      return !server?.replace({ before: member.server, arrived, drainMs, close });
    });
    await arrived;
    await closeAll(
      gone.map(([, member]) => member),
      drainMs,
    );
  }
}

/** Whether an entry is served by what serves it already: same plugin set up the same way, and an entry that means the same. */
function isSame({ typed: old }: Member, typed: TypedServer): boolean {
  const isServedBySame = old.scope === typed.scope && old.definition === typed.definition;
  return isServedBySame && (isDeepStrictEqual(old.entry, typed.entry) || meansSame(old, typed));
}

/** The same in other words: `90s` for `1.5m`, or a default written out. */
function meansSame(old: TypedServer, typed: TypedServer): boolean {
  const [before, after] = [old, typed].map(({ entry }) => commonOptions(entry));
  return isDeepStrictEqual(before, after) && isDeepStrictEqual(old.options, typed.options);
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

function serversOf(members: Members): ReadonlyMap<string, ManagedServer> {
  return new Map([...members].map(([name, { server }]) => [name, server]));
}

async function closeAll(members: readonly Member[], graceMs: number): Promise<void> {
  await Promise.all(members.map((member) => closeMember(member, graceMs)));
}

async function closeMember({ server, made, typed }: Member, graceMs: number): Promise<void> {
  await server.close(graceMs);
  typed.scope.managed.delete(made);
}

/** A server type with the plugin that brings it. */
interface BroughtType {
  readonly scope: Scope;
  readonly definition: ServerType;
}

/** An entry of `servers` with the type that serves it, checked. */
export interface TypedServer extends BroughtType {
  /** As the config has it. */
  readonly entry: ServerConfig;
  /** Its options as the plugin's schema made them. */
  readonly options: unknown;
}

/**
 * The entries of a config with the types that serve them.
 *
 * @throws {GatewayError} `invalid` for a type that no plugin registered, `exists` for one that two plugins bring
 */
export function typedServers(
  config: Config,
  scopes: readonly Scope[],
): ReadonlyMap<string, TypedServer> {
  const types = collectTypes(config, scopes);
  const servers = new Map<string, TypedServer>();
  const issues: PathIssue[] = [];
  for (const [name, entry] of Object.entries(config.values.servers)) {
    const type = types.get(entry.type);
    if (!type) issues.push(unserved(name, entry.type, [...types.keys()]));
    else servers.set(name, { ...type, entry, options: config.entries.get(name) });
  }
  if (issues.length > 0) throw invalidConfig(issues.map((issue) => config.place(issue)));
  return servers;
}

/**
 * Makes the server of an entry; it is not started.
 *
 * @param before lists of the server it replaces
 * @throws {GatewayError} naming the plugin
 */
function createTyped(
  name: string,
  { scope, definition, options }: TypedServer,
  before: Catalogue | undefined,
): ManagedServer {
  try {
    const server = definition.create(name, options, before);
    scope.managed.add(server);
    return server;
  } catch (error) {
    throw blame(scope.name, `could not make the server "${name}"`, error);
  }
}

function collectTypes(config: Config, scopes: readonly Scope[]): ReadonlyMap<string, BroughtType> {
  const types = new Map<string, BroughtType>();
  for (const scope of scopes) {
    const { serverTypes } = scope.plugin;
    const added = readAdded(scope, ServerTypes, config, (type) => checkType(type, serverTypes));
    for (const definition of added) {
      const { type } = definition;
      const other = types.get(type)?.scope.name;
      if (other !== undefined)
        throw new GatewayError(
          "exists",
          `The server type "${type}" is brought twice: by plugin "${other}" and by plugin "${scope.name}".`,
        );
      // What other clients call a transport is never the type of an entry.
      const isTransport = (SPELLINGS as readonly string[]).includes(type);
      if (isTransport && !ENTRY_TYPES.includes(type))
        throw new GatewayError(
          "invalid",
          `Plugin "${scope.name}" brings a server type "${type}", which is the name of a transport.`,
        );
      types.set(type, { scope, definition });
    }
  }
  return types;
}

function checkType(
  { type, create }: { readonly type: unknown; readonly create: unknown },
  schemas: Readonly<Record<string, unknown>> = {},
): void {
  if (typeof type !== "string" || typeof create !== "function")
    throw new GatewayError("invalid", "it has no type or no function create", {
      hint: 'Write gateway.add(ServerTypes, { type: "card", create }).',
    });
  if (!Object.hasOwn(schemas, type))
    throw new GatewayError("invalid", `the schema of the server type "${type}" is missing`, {
      hint: `Add it to the definition: serverTypes: { ${type}: schema }.`,
    });
}

/**
 * Two servers of one name, which no client could tell apart.
 *
 * @param plugins those that bring it; with one, the other is the config's
 */
export function nameTaken(config: Config, name: string, plugins: readonly string[]): GatewayError {
  const owners = plugins.map((plugin) => `plugin "${plugin}"`);
  if (owners.length > 1)
    return new GatewayError("exists", takenText(name, owners), {
      hint: "Give one of the plugins another name.",
    });
  const hint = `Rename servers.${name}, or the plugin.`;
  const message = takenText(name, [`the config's server "${name}"`, ...owners]);
  const { place } = config.place({ path: ["servers", name], at: "key", message, hint });
  return new GatewayError("exists", message, { hint, place });
}

function takenText(name: string, owners: readonly string[]): string {
  return `The server name "${name}" is taken twice: by ${owners.join(" and by ")}.`;
}

/**
 * Every server by name: upstreams in config order, then those of plugins.
 *
 * @throws {GatewayError} `exists` for a name that is taken twice
 */
export function collectServers(
  config: Config,
  scopes: readonly Scope[],
  upstreams: ReadonlyMap<string, Server>,
): ReadonlyMap<string, Server> {
  const servers = new Map(upstreams);
  const owners = new Map<string, string>();
  const add = (server: Server, owner: string): void => {
    const other = owners.get(server.name);
    if (other !== undefined) throw nameTaken(config, server.name, [other, owner]);
    if (upstreams.has(server.name)) throw nameTaken(config, server.name, [owner]);
    owners.set(server.name, owner);
    servers.set(server.name, server);
  };
  for (const scope of scopes) {
    if (!scope.local.isEmpty) add(scope.local, scope.name);
    for (const server of scope.servers) add(server, scope.name);
  }
  return servers;
}
