import { pino } from "pino";
import type { LoadedConfig } from "./config/load.ts";
import { markParsed, rememberPlaces } from "./config/parse.ts";
import type { Resolver } from "./config/plugins.ts";
import type { GatewayConfig } from "./config/schema.ts";
import { createGateway, type Gateway } from "./gateway.ts";

/**
 * Sets a config up without opening a port, to find out what only shows between parts, or what the whole is made of. Close what
 * it returns.
 *
 * @param options.connect whether to start and dial the servers; default: they are left out
 * @throws {GatewayError} as {@link createGateway}
 */
export function rehearse(
  loaded: LoadedConfig,
  source: Resolver,
  options: { readonly connect?: boolean } = {},
): Promise<Gateway> {
  const config = options.connect
    ? loaded.config
    : rememberPlaces(withoutServers(loaded.config), (issue) => loaded.place(issue));
  return createGateway(config, {
    cwd: loaded.cwd,
    log: pino({ enabled: false }),
    resolvePlugin: (key) => source.resolve(key),
  });
}

function withoutServers(config: GatewayConfig): GatewayConfig {
  const servers = Object.entries(config.servers).map(([name, server]) => [
    name,
    { ...server, enabled: false },
  ]);
  return markParsed({
    ...config,
    servers: Object.fromEntries(servers) as GatewayConfig["servers"],
  });
}
