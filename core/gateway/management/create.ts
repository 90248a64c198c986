import { Gateway } from "../gateway.ts";
import { createResolver, type GatewayOptions } from "../gateway-options.ts";
import { check } from "../check/check.ts";
import { parseConfig } from "../check/parse.ts";
import { startManaged } from "./start-managed.ts";
import type { GatewayConfigInput } from "../../config/schema.ts";

/**
 * Makes a gateway and applies its first config: plugins are set up and started, servers are being connected. No port is
 * open until {@link Gateway.listen}.
 *
 * @throws {GatewayError} saying what is wrong with the config; whatever was started is undone
 *
 * @example
 * const gateway = await createGateway({ plugins: { greeter: {} } }, { plugins: { greeter } });
 * await gateway.listen();
 */
export async function createGateway(
  config: GatewayConfigInput,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const resolver = createResolver(options);
  const checked = await check(await parseConfig(config, resolver), resolver);
  return startManaged(checked, options);
}
