import { sweepTemporary } from "../kit/replace-file.ts";
import { issueText } from "../config/issue.ts";
import { reload } from "../gateway/management/config-changes.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { createLogger, holdNews } from "../config/log.ts";
import { isWorker, workerCount } from "../workers/role.ts";
import {
  keyOf,
  loadStart,
  openGateway,
  type Running,
  SETTLE_MS,
  type StartOptions,
} from "./open-gateway.ts";
import { endWhileStarting, runProcess } from "./run-process.ts";
import { linkOnEnter, signInLink } from "./sign-in.ts";
import { checkValue } from "./source.ts";
import { summarise, tellReload, whenSettled, writeSummary } from "./summary.ts";

/**
 * Runs a gateway until the process is told to end. Returns once it serves.
 *
 * @throws {GatewayError} when the config cannot be used or a port cannot be had
 */
export async function start(options: StartOptions): Promise<void> {
  if (isWorker()) return (await import("./start-worker.ts")).startWorker(options);
  const isStarted = endWhileStarting();
  const loaded = await loadStart(options);
  const { file, checked, cwd, warnings } = loaded;
  const { config } = checked;
  const log = await createLogger(config.values.log);
  // Who asks for more than the news wants all of it in its order.
  const release = config.values.log.level === "info" ? holdNews(log) : () => {};
  for (const warning of warnings) log.warn(issueText(warning));
  if (file) await sweepTemporary(file.path);
  if (workerCount(config.values.workers) > 1) {
    const { startPrimary } = await import("./start-primary.ts");
    return startPrimary(loaded, { options, log, isStarted }).finally(release);
  }
  const gateway = await openGateway(checked, { cwd, log, ...(file && { file }) });
  gateway.hook("reload:done", (report) => tellReload(report, log));
  runProcess(gateway, { log, ...(file && { onReload: () => reloadQuietly(gateway) }) });
  isStarted();
  if (file && options.watch) await gateway.watch();
  await whenSettled(gateway, SETTLE_MS);
  const { log: format } = config.values;
  writeSummary(summarise(gateway), format, log, keyOf(options, config), signInLink(gateway));
  release();
  linkOnEnter(gateway);
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
  const gateway = await openGateway(checked, { cwd, log }, prepare);
  runProcess(gateway, { log });
  isStarted();
  return { gateway, log };
}

/** A failure was told already: by the log and the hook. */
async function reloadQuietly(gateway: Gateway): Promise<void> {
  await reload(gateway).catch(() => {});
}
