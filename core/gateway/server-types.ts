import { blame, readAdded } from "./setup.ts";
import { SPELLINGS } from "./check/clients.ts";
import { unserved } from "./check/check.ts";
import { invalidConfig, type PathIssue } from "../config/issue.ts";
import type { Config } from "../config/config.ts";
import { ENTRY_TYPES, type ServerConfig } from "../config/server-schema.ts";
import { GatewayError } from "../kit/errors.ts";
import type { ManagedServer, ServerType } from "../call/server-type.ts";
import type { Catalogue, Server } from "../call/server.ts";
import { ServerTypes } from "../plugin/config-points.ts";
import type { Scope } from "./scope.ts";

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
export function createTyped(
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
