import type { Logger } from "pino";
import type { CheckedConfig } from "./check/check.ts";
import type { Config } from "../config/config.ts";
import { maskText } from "../kit/mask.ts";
import { findStore } from "./check/checks.ts";
import { GatewayError, isGatewayError } from "../kit/errors.ts";
import type { StoreDriver } from "../store/driver.ts";
import { GatewayStore } from "../store/gateway-store.ts";
import { cwdOf, type StartedWith } from "./gateway-options.ts";

/**
 * Opens the store of a gateway's first config; one that is only looked at keeps what it would keep in memory.
 *
 * @throws {GatewayError} what the store's plugin throws, with the place in the config; `io_error` for anything else
 */
export async function openStore(
  checked: CheckedConfig,
  options: StartedWith,
  log: Logger,
): Promise<GatewayStore> {
  const { dryRun, seat } = options;
  if (dryRun === true) return GatewayStore.forDryRun(log, holdsTables(checked));
  const driver = seat?.openStore() ?? (await openDriver(checked, { cwd: cwdOf(options), log }));
  if (!driver) return GatewayStore.inMemory(log);
  try {
    return await join(new GatewayStore(driver, log.child({ plugin: "store" })));
  } catch (cause) {
    throw storeError(cause, checked.config);
  }
}

/**
 * Opens what the config's `store` names; nothing for `memory`.
 *
 * @throws {GatewayError} as {@link openStore}
 */
export async function openDriver(
  { config, plugins }: CheckedConfig,
  { cwd, log }: { readonly cwd: string; readonly log: Logger },
): Promise<StoreDriver | undefined> {
  const url = config.values.store;
  const found = findStore(plugins, url);
  if (!found) return undefined;
  const { kind, by } = found;
  const own = log.child({ plugin: by.plugin.name });
  try {
    return await kind.open(url, { folder: cwd, options: by.options, log: own });
  } catch (cause) {
    throw storeError(cause, config);
  }
}

function holdsTables({ config, plugins }: CheckedConfig): boolean {
  const abilities = findStore(plugins, config.values.store)?.kind.abilities;
  return abilities?.includes("tables") ?? false;
}

async function join(store: GatewayStore): Promise<GatewayStore> {
  try {
    await store.join();
    return store;
  } catch (error) {
    await store.close().catch(() => {});
    throw error;
  }
}

function storeError(cause: unknown, config: Config): GatewayError {
  const { place } = config.place({ path: ["store"], message: "", hint: "" });
  const known = isGatewayError(cause);
  const reason = known ? cause.message : `The store cannot be opened: ${(cause as Error).message}.`;
  return new GatewayError(known ? cause.code : "io_error", maskText(reason, config.secrets), {
    cause,
    ...(place && { place }),
    hint: (known ? cause.hint : undefined) ?? "Check the URL, and that the store runs.",
  });
}
