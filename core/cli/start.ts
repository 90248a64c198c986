import { createGateway } from "../gateway/create.ts";
import { issueText } from "../config/issue.ts";
import type { ConfigFile } from "../config/file.ts";
import type { LoadedConfig } from "../config/load.ts";
import { PluginSource } from "../config/resolve.ts";
import { sweepTemporary } from "../config/replace.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { Logger } from "pino";
import { createLogger } from "../log.ts";
import { endWhileStarting, runProcess } from "./run-process.ts";
import { keyVariable } from "./clients.ts";
import type { ServeFlags } from "./flags.ts";
import { commandConfig, configFile, valueConfig } from "./source.ts";
import { tellReload, whenSettled, writeSummary } from "./summary.ts";

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
const SETTLE_MS = 10_000;

/**
 * Runs a gateway until the process is told to end. Returns once it serves.
 *
 * @throws {GatewayError} when the config cannot be used or a port cannot be had
 */
export async function start(options: StartOptions): Promise<void> {
  const isStarted = endWhileStarting();
  const { file, loaded } = await loadStart(options);
  const { gateway, log } = await open(loaded, file);
  gateway.hook("reload:done", (report) => tellReload(report, log));
  runProcess(gateway, { log, ...(file && { onReload: () => reload(gateway) }) });
  isStarted();
  if (file && options.watch) await gateway.watch();
  await whenSettled(gateway, SETTLE_MS);
  writeSummary(gateway, log, keyVariable(options.apiKey === undefined ? loaded : undefined));
}

/** A gateway that runs in this process, and its log. */
export interface Running {
  readonly gateway: Gateway;
  readonly log: Logger;
}

/**
 * Runs a gateway of a config that a command made, until the process is told to end. Returns once it listens.
 *
 * @param value as in a config file
 * @param prepare called before it listens
 * @throws {GatewayError} when the config cannot be used or a port cannot be had
 */
export async function runGateway(
  value: Record<string, unknown>,
  prepare?: (running: Running) => void,
): Promise<Running> {
  const isStarted = endWhileStarting();
  const running = await open(valueConfig(value), undefined, prepare);
  runProcess(running.gateway, { log: running.log });
  isStarted();
  return running;
}

/** Sets a gateway up and lets it listen; what is open already is closed when that fails. */
async function open(
  loaded: LoadedConfig,
  file: ConfigFile | undefined,
  prepare?: (running: Running) => void,
): Promise<Running> {
  const log = await createLogger(loaded.config.log);
  for (const warning of loaded.warnings) log.warn(issueText(warning));
  if (file) await sweepTemporary(file.path);
  const plugins = new PluginSource(loaded.cwd);
  const gateway = await createGateway(loaded.config, {
    cwd: loaded.cwd,
    log,
    ...(file ? { file } : { resolvePlugin: (key) => plugins.resolve(key) }),
  });
  prepare?.({ gateway, log });
  try {
    await gateway.listen();
  } catch (error) {
    await gateway.close({ grace: 0 });
    throw error;
  }
  return { gateway, log };
}

/** The config of a file, or of the command behind `--`, which has none. */
async function loadStart(
  options: StartOptions,
): Promise<{ file?: ConfigFile; loaded: LoadedConfig }> {
  if (options.command) return { loaded: commandConfig(options.command, options) };
  const file = configFile(options.file, options);
  return { file, loaded: await file.load() };
}

/** A failure was told already: by the log and the hook. */
async function reload({ control }: Gateway): Promise<void> {
  await control.reload().catch(() => {});
}
