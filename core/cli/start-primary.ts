import type { Logger } from "pino";
import { ConfigWatcher } from "../file/watch.ts";
import type { ConfigFile } from "../file/config-file.ts";
import { toGatewayError } from "../kit/errors.ts";
import { reloadError } from "../gateway/changes.ts";
import { writeLines } from "../config/log.ts";
import { Primary, type ReadConfig } from "../workers/primary.ts";
import { openOwnStore } from "../workers/own-store.ts";
import { workerCount } from "../workers/role.ts";
import { EXIT } from "./exit.ts";
import { keyOf, type LoadedStart, type StartOptions } from "./open-gateway.ts";
import { runProcess } from "./run-process.ts";
import { tellReload, writeSummary } from "./summary.ts";

interface StartingPrimary {
  readonly options: StartOptions;
  readonly log: Logger;
  /** Called once signals are heard. */
  readonly isStarted: () => void;
}

/**
 * Runs a gateway as several processes until this one is told to end. Returns once all serve, or one could not, which has told why.
 *
 * @throws {GatewayError} when the store cannot be opened, or this process may have no workers
 */
export async function startPrimary(
  { file, checked, cwd, text }: LoadedStart,
  { options, log, isStarted }: StartingPrimary,
): Promise<void> {
  const { config } = checked;
  const store = await openOwnStore(checked, { cwd, log });
  const primary = new Primary({
    count: workerCount(config.values.workers),
    log,
    store,
    config: { text },
    timeouts: config.values.timeouts,
    ...(file && { read: () => readConfig(file) }),
    onLines: (lines) => writeLines(log, lines),
    onApplied: (report) => tellReload(report, log),
    onRefused: (error) => tellRefused(error, log),
  });
  // One whose loop is stuck would not notice that it is alone.
  process.once("exit", () => primary.kill());
  const close = (): Promise<void> => primary.close();
  runProcess(
    {
      config: primary,
      giveNotice: () => primary.giveNotice(),
      drain: () => {},
      close,
    },
    { log, ...(file && { onReload: () => reload(primary) }) },
  );
  isStarted();
  const end = await primary.start();
  if (end) {
    await primary.close();
    process.exitCode = end.code || EXIT.invalid;
    return;
  }
  if (file && options.watch) await watch(primary, file);
  const summary = await primary.summarise();
  if (summary) writeSummary(summary, config.values.log, log, keyOf(options, config));
}

async function readConfig(file: ConfigFile): Promise<ReadConfig> {
  const { text } = await file.load();
  return { text };
}

function tellRefused(thrown: unknown, log: Logger): void {
  const { message, place, hint } = reloadError(toGatewayError(thrown));
  log.error({ place, hint }, message);
}

/** A failure was told already. */
async function reload(primary: Primary): Promise<void> {
  await primary.reload().catch(() => {});
}

async function watch(primary: Primary, file: ConfigFile): Promise<void> {
  const files = (): readonly string[] => [...file.files, ...primary.sources];
  const watcher = new ConfigWatcher({ files, onChange: () => reload(primary) });
  await watcher.start();
}
