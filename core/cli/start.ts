import { issueText } from "../config/issue.ts";
import type { LoadedConfig } from "../config/load.ts";
import { requirePlugins } from "../config/plugins.ts";
import { PluginSource } from "../config/resolve.ts";
import { ConfigWatcher, reloadFailed } from "../config/watch.ts";
import { sweepTemporary } from "../config/replace.ts";
import { toGatewayError } from "../errors.ts";
import { createGateway, type Gateway } from "../gateway.ts";
import { createLogger } from "../log.ts";
import { runProcess } from "../node/process.ts";
import { commandConfig, loadFile, type ServeFlags } from "./source.ts";
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
  const loaded = options.command
    ? commandConfig(options.command, options)
    : await loadFile(options.file, options);
  const log = await createLogger(loaded.config.log);
  for (const warning of loaded.warnings) log.warn(issueText(warning));
  if (loaded.file !== "") await sweepTemporary(loaded.file);
  const plugins = new PluginSource(loaded.cwd);
  await requirePlugins(loaded, plugins);
  const gateway = await createGateway(loaded.config, {
    cwd: loaded.cwd,
    log,
    resolvePlugin: (key) => plugins.resolve(key),
  });
  try {
    await gateway.listen();
  } catch (error) {
    await gateway.close({ grace: 0 });
    throw error;
  }
  const reload =
    loaded.file === ""
      ? undefined
      : (): Promise<void> => reloadFrom({ gateway, loaded, plugins, options });
  gateway.hook("reload:done", (report) => tellReload(report, log));
  runProcess(gateway, { log, ...(reload && { onReload: reload }) });
  if (options.watch && loaded.file !== "") await watch({ gateway, loaded, plugins, options });
  await whenSettled(gateway, SETTLE_MS);
  writeSummary(gateway, log);
}

async function reloadFrom({ gateway, plugins, options }: Watching): Promise<void> {
  try {
    await applyLoaded(gateway, await loadFile(options.file, options), plugins);
  } catch (error) {
    gateway.reportReloadFailure(reloadFailed(toGatewayError(error)));
  }
}

async function applyLoaded(
  gateway: Gateway,
  loaded: LoadedConfig,
  plugins: PluginSource,
): Promise<void> {
  await requirePlugins(loaded, plugins);
  await gateway.apply(loaded.config);
}

interface Watching {
  readonly gateway: Gateway;
  readonly loaded: LoadedConfig;
  readonly plugins: PluginSource;
  readonly options: StartOptions;
}

async function watch({ gateway, loaded, plugins, options }: Watching): Promise<void> {
  const watcher = new ConfigWatcher({
    file: loaded.file,
    load: () => loadFile(loaded.file, options),
    extraFiles: () => plugins.files,
    onConfig: (next) => applyLoaded(gateway, next, plugins),
    onFailure: (error) => gateway.reportReloadFailure(error),
  });
  await watcher.start();
  gateway.hook("gateway:drain", () => void watcher.close());
}
