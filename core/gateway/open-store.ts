import { type CheckedConfig, openerOf } from "../config/check.ts";
import { maskText } from "../config/mask.ts";
import { GatewayError, isGatewayError } from "../errors.ts";
import { GatewayStore } from "../store/gateway-store.ts";
import type { GatewayParts } from "./parts.ts";

/**
 * Opens the store of a gateway's first config; one that is only looked at keeps what it would keep in memory.
 *
 * @throws {GatewayError} what the store's plugin throws, with the place in the config; `io_error` for anything else
 */
export async function openStore(
  { config, plugins }: CheckedConfig,
  { cwd, dryRun, log }: Pick<GatewayParts, "cwd" | "dryRun" | "log">,
): Promise<GatewayStore> {
  const url = config.values.store;
  const brought = plugins.find(({ plugin }) => openerOf(plugin, url));
  if (!brought || dryRun) return GatewayStore.inMemory(log);
  const own = log.child({ plugin: brought.plugin.name });
  try {
    const open = openerOf(brought.plugin, url)!;
    const driver = await open(url, { folder: cwd, options: brought.options, log: own });
    return await join(new GatewayStore(driver, own));
  } catch (cause) {
    const { place } = config.place({ path: ["store"], message: "", hint: "" });
    throw storeError(cause, place, config.secrets);
  }
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

function storeError(
  cause: unknown,
  place: GatewayError["place"],
  secrets: ReadonlySet<string>,
): GatewayError {
  const known = isGatewayError(cause);
  const reason = known ? cause.message : `The store cannot be opened: ${(cause as Error).message}.`;
  return new GatewayError(known ? cause.code : "io_error", maskText(reason, secrets), {
    cause,
    ...(place && { place }),
    hint: (known ? cause.hint : undefined) ?? "Check the URL, and that the store runs.",
  });
}
