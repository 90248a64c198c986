import type { Config } from "../config/config.ts";
import { GatewayError } from "../errors.ts";
import type { Server } from "./server.ts";
import type { Scope } from "../plugin/scope.ts";

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
