import { isDeepStrictEqual } from "node:util";
import type { GatewayConfig } from "../config/schema.ts";
import type { ServerConfig } from "../config/server-schema.ts";
import type { ReloadPlan } from "../plugin/control.ts";
import type { Changes } from "../plugin/hooks.ts";
import { planScopes } from "../plugin/setup.ts";
import type { GatewayParts } from "./parts.ts";
import { fixedSettings, replacedPlugins } from "./reload.ts";

/**
 * What applying a config would change, without setting up or starting anything.
 *
 * @throws {GatewayError} when a plugin cannot be found or ordered
 */
export async function planConfig(parts: GatewayParts, config: GatewayConfig): Promise<ReloadPlan> {
  const { generation, sockets, resolve } = parts;
  const plugins = await planScopes({ config, resolve, current: generation.scopes });
  const rebuilt = generation.scopes.filter(({ key }) => !plugins.unchanged.includes(key));
  const types = rebuilt.flatMap(({ serverTypes }) => serverTypes.map(({ type }) => type));
  return {
    plugins,
    servers: compareServers(generation.written, config, new Set(types)),
    restartRequired: [
      ...sockets.restartRequired(config),
      ...fixedSettings(generation.written, config),
      ...replacedPlugins(parts, config),
    ],
  };
}

/** @param rebuilt types of servers whose plugin is set up anew, and they with it */
function compareServers(
  before: GatewayConfig,
  after: GatewayConfig,
  rebuilt: ReadonlySet<string>,
): Changes {
  const old = enabledServers(before);
  const now = enabledServers(after);
  const names = [...now.keys()].toSorted();
  const isSame = (name: string): boolean => {
    const server = now.get(name)!;
    return (
      !("type" in server && rebuilt.has(server.type)) && isDeepStrictEqual(old.get(name), server)
    );
  };
  return {
    added: names.filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)).toSorted(),
    changed: names.filter((name) => old.has(name) && !isSame(name)),
    unchanged: names.filter((name) => old.has(name) && isSame(name)),
  };
}

function enabledServers({ servers }: GatewayConfig): ReadonlyMap<string, ServerConfig> {
  return new Map(Object.entries(servers).filter(([, { enabled }]) => enabled));
}
