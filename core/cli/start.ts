import type { CheckedConfig } from "../config/check.ts";
import { issueText, type ConfigIssue } from "../config/issue.ts";
import type { ConfigFile } from "../config/file.ts";
import { sweepTemporary } from "../config/replace.ts";
import { Gateway } from "../gateway/gateway.ts";
import type { Logger } from "pino";
import { createLogger } from "../log.ts";
import { endWhileStarting, runProcess } from "./run-process.ts";
import { keyVariable } from "./client-files.ts";
import type { ServeFlags } from "./flags.ts";
import { checkValue, commandConfig, configFile } from "./source.ts";
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
  const { file, checked, cwd, warnings } = await loadStart(options);
  const { config } = checked;
  const log = await createLogger(config.values.log);
  for (const warning of warnings) log.warn(issueText(warning));
  if (file) await sweepTemporary(file.path);
  const gateway = await open(checked, { cwd, log, ...(file && { file }) });
  gateway.hook("reload:done", (report) => tellReload(report, log));
  runProcess(gateway, { log, ...(file && { onReload: () => reload(gateway) }) });
  isStarted();
  if (file && options.watch) await gateway.watch();
  await whenSettled(gateway, SETTLE_MS);
  writeSummary(gateway, log, keyVariable(options.apiKey === undefined ? config : undefined));
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
  const cwd = process.cwd();
  const checked = await checkValue(value);
  const log = await createLogger(checked.config.values.log);
  const gateway = await open(checked, { cwd, log }, prepare);
  runProcess(gateway, { log });
  isStarted();
  return { gateway, log };
}

/** Sets a gateway up and lets it listen; what is open already is closed when that fails. */
async function open(
  checked: CheckedConfig,
  options: Parameters<typeof Gateway.start>[1] & { readonly log: Logger },
  prepare?: (running: Running) => void,
): Promise<Gateway> {
  const gateway = await Gateway.start(checked, options);
  prepare?.({ gateway, log: options.log });
  try {
    await gateway.listen();
  } catch (error) {
    await gateway.close({ grace: 0 });
    throw error;
  }
  return gateway;
}

/** The config of a file, or of the command behind `--`, which has none. */
async function loadStart(options: StartOptions): Promise<{
  readonly file?: ConfigFile;
  readonly checked: CheckedConfig;
  readonly cwd: string;
  readonly warnings: readonly ConfigIssue[];
}> {
  if (options.command) {
    const checked = await checkValue(commandConfig(options.command, options));
    return { checked, cwd: process.cwd(), warnings: [] };
  }
  const file = configFile(options.file, options);
  const checked = await file.load();
  return { file, checked, cwd: file.cwd, warnings: checked.warnings };
}

/** A failure was told already: by the log and the hook. */
async function reload({ control }: Gateway): Promise<void> {
  await control.reload().catch(() => {});
}
