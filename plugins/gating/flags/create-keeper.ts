import { GatewayError } from "propylon";
import type { GatingContext } from "../context.ts";
import { StateFile } from "./file.ts";
import { FlagRecords } from "./flag-records.ts";
import type { StateKeeper } from "./keeper.ts";
import { statePath } from "./path.ts";
import type { FlagChange } from "../service.ts";

/**
 * What the config has flags written down to: a store that outlives the process, unless `state` names a file; `undefined` = memory
 * only.
 *
 * @param onChange told what other gateways of the store switched
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
