import type { PluginContext } from "propylon";
import { StateFile } from "./file.ts";
import { FlagRecords } from "./flag-records.ts";
import type { StateKeeper } from "./keeper.ts";
import type { GatingOptions } from "./options.ts";
import { statePath } from "./path.ts";
import type { FlagChange } from "./service.ts";

/**
 * What the config has flags written down to: a store that outlives the process, unless `state` names a file; `undefined` = memory
 * only.
 *
 * @param onChange told what other gateways of the store switched
 */
export function createKeeper(
  { config, control, files, store, log }: PluginContext<GatingOptions>,
  onChange: (changes: readonly FlagChange[]) => void,
): StateKeeper | undefined {
  const path = statePath(config.state, files.folder, control.configFile);
  const file = path === undefined ? undefined : new StateFile(path, control.dryRun);
  if (config.state !== undefined || !store.durable) return file;
  return new FlagRecords({ store, log, former: file, onChange });
}
