import { createGateway } from "./create.ts";
import { pino } from "pino";
import type { LoadedConfig } from "../config/load.ts";
import { markParsed, rememberPlaces } from "../config/parse.ts";
import type { Resolver } from "../config/plugins.ts";
import type { GatewayConfig } from "../config/schema.ts";
import type { GatewayError } from "../errors.ts";
import type { Gateway } from "./gateway.ts";
import { nameTaken } from "../server/servers.ts";

/**
 * Sets a config up without opening a port, to find out what only shows between parts, or what the whole is made of. Close what
 * it returns.
 *
 * @param options.connect whether to start and dial the servers; default: they are left out
 * @throws {GatewayError} as {@link createGateway}
 */
export async function dryRun(
  loaded: LoadedConfig,
  source: Resolver,
  options: { readonly connect?: boolean } = {},
): Promise<Gateway> {
  const config = options.connect
    ? loaded.config
    : rememberPlaces(withoutServers(loaded.config), (issue) => loaded.place(issue));
  const gateway = await createGateway(config, {
    cwd: loaded.cwd,
    dryRun: true,
    log: pino({ enabled: false }),
    resolvePlugin: (key) => source.resolve(key),
  });
  const taken = options.connect ? undefined : findTaken(gateway, loaded.config);
  if (taken === undefined) return gateway;
  await gateway.close({ grace: 0 });
  throw taken;
}

/** A server that was left out may have the name of a plugin's: it shows only when both are there. */
function findTaken(gateway: Gateway, config: GatewayConfig): GatewayError | undefined {
  const name = [...gateway.servers.keys()].find((each) => config.servers[each]?.enabled);
  if (name === undefined) return undefined;
  const owner = gateway
    .composition()
    .find((plugin) => plugin.name === name || plugin.servers.some((each) => each.name === name));
  return nameTaken(config, name, [owner?.name ?? name]);
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
