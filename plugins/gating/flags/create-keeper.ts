import { GatewayError } from "propylon";
import { basename, extname, join, resolve } from "node:path";
import type { GatingContext } from "../context.ts";
import { StateFile } from "./file.ts";
import { FlagRecords } from "./flag-records.ts";
import type { StateKeeper } from "./keeper.ts";
import type { FlagChange } from "../service.ts";

/** Name of the state file where there is no config file to name it after. */
const NAMELESS = "mcpo_state.json";

/**
 * Where the state file is: beside the config file and named after it, or where the option says.
 *
 * @param folder where relative paths of the config start
 * @returns absolute path; `undefined` = memory only
 */
export function statePath(
  option: boolean | string | undefined,
  folder: string,
  configFile: string | undefined,
): string | undefined {
  if (option === false) return undefined;
  if (typeof option === "string") return resolve(folder, option);
  if (configFile !== undefined)
    return join(folder, `${basename(configFile, extname(configFile))}_state.json`);
  return option === true ? join(folder, NAMELESS) : undefined;
}

/**
 * What the config has flags written down to: a store that outlives the process, unless `state` names a file; `undefined` = memory
 * only.
 *
 * @param onChange told what other replicas of the store switched
 * @throws {GatewayError} `invalid` for workers with a state file and a store that ends with the gateway
 */
export function createKeeper(
  { config, info, services, log }: GatingContext,
  onChange: (changes: readonly FlagChange[]) => void,
): StateKeeper | undefined {
  const { files, management, store } = services;
  const path = statePath(config.state, files.folder, management.configFile);
  const file = path === undefined ? undefined : new StateFile(path, info.dryRun);
  if (store.shared && !store.durable) {
    if (file) throw nowhere();
    return new FlagRecords({ store, log, former: undefined, onChange });
  }
  if (config.state !== undefined || !store.durable) return file;
  return new FlagRecords({ store, log, former: file, onChange });
}

function nowhere(): GatewayError {
  return new GatewayError(
    "invalid",
    "A state file belongs to one process; workers write switches down in the store, and the one of this config is lost with the gateway.",
    {
      hint: "Set store: sqlite:./data/gateway.db, or plugins.gating.state: false to forget them with the gateway.",
    },
  );
}
