import type { CheckedConfig } from "../gateway/check/check.ts";
import type { Config } from "../config/config.ts";
import type { ConfigFile } from "../file/config-file.ts";
import type { ConfigIssue } from "../config/issue.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { startManaged } from "../gateway/management/start-managed.ts";
import type { StartedWith } from "../gateway/gateway-options.ts";
import type { Logger } from "pino";
import { keyVariable } from "./client-hint.ts";
import type { ServeFlags } from "./flags.ts";
import { stopPretenuring } from "./pretenuring.ts";
import { checkValue, commandConfig, configFile } from "./source.ts";

/** What `start` and `dev` were called with. */
export interface StartOptions extends ServeFlags {
  readonly file?: string | undefined;
  /** Words behind `--`: a server to run without a config. */
  readonly command?: readonly string[] | undefined;
  readonly watch?: boolean;
}

/**
 * How long the summary waits for servers that are still connecting, in milliseconds: npx downloads a server before it runs it.
 * Clients are served meanwhile.
 */
export const SETTLE_MS = 10_000;

/** A gateway that runs in this process, and its log. */
export interface Running {
  readonly gateway: Gateway;
  readonly log: Logger;
}

/** Sets a gateway up and lets it listen; what is open already is closed when that fails. */
export async function openGateway(
  checked: CheckedConfig,
  options: StartedWith & { readonly log: Logger },
  prepare?: (running: Running) => void,
): Promise<Gateway> {
  stopPretenuring();
  const gateway = await startManaged(checked, options);
  prepare?.({ gateway, log: options.log });
  try {
    await gateway.listen();
  } catch (error) {
    await gateway.close({ grace: 0 });
    throw error;
  }
  return gateway;
}

/** A config to start with. */
export interface LoadedStart {
  /** Absent for the command behind `--`. */
  readonly file?: ConfigFile;
  readonly checked: CheckedConfig;
  readonly cwd: string;
  readonly warnings: readonly ConfigIssue[];
  /** What the file holds; absent for code. */
  readonly text?: string | undefined;
}

/**
 * The config of a file, or of the command behind `--`, which has none.
 *
 * @param text in place of what the file holds
 */
export async function loadStart(options: StartOptions, text?: string): Promise<LoadedStart> {
  if (options.command) {
    const checked = await checkValue(commandConfig(options.command, options));
    return { checked, cwd: process.cwd(), warnings: [] };
  }
  const file = configFile(options.file, options);
  const checked = await (text === undefined ? file.load() : file.check(text));
  return { file, checked, cwd: file.cwd, warnings: checked.warnings, text: checked.text };
}

/** Variable that clients take the key from. */
export function keyOf({ apiKey }: StartOptions, config: Config): string {
  return keyVariable(apiKey === undefined ? config : undefined);
}
