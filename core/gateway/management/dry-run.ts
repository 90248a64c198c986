import { pino } from "pino";
import type { CheckedConfig } from "../check/check.ts";
import type { Config } from "../../config/config.ts";
import type { GatewayConfig } from "../../config/schema.ts";
import type { GatewayError } from "../../kit/errors.ts";
import { Gateway } from "../gateway.ts";
import { nameTaken } from "../pool.ts";
import { composition } from "./composition.ts";
import { startManaged } from "./start-managed.ts";

/**
 * Sets a config up without opening a port, to find out what only shows between parts, or what the whole is made of. Close what
 * it returns.
 *
 * @param options.connect whether to start and dial the servers; default: they are left out
 * @throws {GatewayError} as `createGateway`
 */
export async function dryRun(
  { config, ...rest }: CheckedConfig,
  cwd: string,
  options: { readonly connect?: boolean } = {},
): Promise<Gateway> {
  const checked = { config: options.connect ? config : withoutServers(config), ...rest };
  const log = pino({ enabled: false });
  const gateway = await startManaged(checked, { cwd, dryRun: true, log });
  const taken = options.connect ? undefined : findTaken(gateway, config);
  if (taken === undefined) return gateway;
  await gateway.close({ grace: 0 });
  throw taken;
}

/** A server that was left out may have the name of a plugin's: it shows only when both are there. */
function findTaken(gateway: Gateway, config: Config): GatewayError | undefined {
  const name = [...gateway.servers.keys()].find((each) => config.values.servers[each]?.enabled);
  if (name === undefined) return undefined;
  const owner = composition(gateway).find(
    (plugin) => plugin.name === name || plugin.servers.some((each) => each.name === name),
  );
  return nameTaken(config, name, [owner?.name ?? name]);
}

function withoutServers(config: Config): Config {
  const servers = Object.entries(config.values.servers).map(([name, server]) => [
    name,
    { ...server, enabled: false },
  ]);
  return config.with({ servers: Object.fromEntries(servers) as GatewayConfig["servers"] });
}
