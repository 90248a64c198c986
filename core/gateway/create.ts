import { Gateway } from "./gateway.ts";
import type { GatewayOptions, FileGatewayOptions } from "./options.ts";
import { ConfigFile } from "../config/file.ts";
import { parseConfig } from "../config/parse.ts";
import type { GatewayConfig, GatewayConfigInput } from "../config/schema.ts";
import { createLogger } from "../log.ts";

/**
 * Makes a gateway from a config file (YAML, JSON or code) that can be reloaded, edited and watched.
 *
 * @throws {GatewayError} `no_config`, `invalid` with every problem and its place, `io_error`; and as {@link createGateway}
 */
export async function createFileGateway(
  path: string,
  { log, ...options }: FileGatewayOptions = {},
): Promise<Gateway> {
  const file = new ConfigFile(path, options);
  const { config } = await file.load();
  return createGateway(config, { file, ...(log && { log }) });
}

/**
 * Makes a gateway and applies its first config: plugins are set up and started, servers are being connected. No port is
 * open until {@link Gateway.listen}.
 *
 * @throws {GatewayError} saying what is wrong with the config; whatever was started is undone
 */
export async function createGateway(
  config: GatewayConfigInput | GatewayConfig,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const parsed = parseConfig(config);
  const gateway = new Gateway(parsed, options, options.log ?? (await createLogger(parsed.log)));
  try {
    await gateway.apply(parsed);
    return gateway;
  } catch (error) {
    await gateway.close({ grace: 0 }).catch(() => {});
    throw error;
  }
}
