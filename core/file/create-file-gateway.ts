import type { Logger } from "pino";
import type { Gateway } from "../gateway/gateway.ts";
import { startManaged } from "../gateway/management/start-managed.ts";
import { ConfigFile, type ConfigFileOptions } from "./config-file.ts";

/**
 * What `createFileGateway` takes besides the path.
 *
 * @example
 * const options: FileGatewayOptions = { plugins: { greeter }, log };
 * const gateway = await createFileGateway("gateway.yaml", options);
 */
export interface FileGatewayOptions extends ConfigFileOptions {
  /** Default: made from the config's `log`. */
  readonly log?: Logger;
}

/**
 * Makes a gateway from a config file (YAML, JSON or code) that can be reloaded, edited and watched.
 *
 * @throws {GatewayError} `no_config`, `invalid` with every problem and its place, `io_error`; and as `createGateway`
 *
 * @example
 * const gateway = await createFileGateway("gateway.yaml");
 * await gateway.listen();
 */
export async function createFileGateway(
  path: string,
  { log, ...options }: FileGatewayOptions = {},
): Promise<Gateway> {
  const file = new ConfigFile(path, options);
  return startManaged(await file.load(), { file, ...(log && { log }) });
}
