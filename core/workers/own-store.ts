import type { Logger } from "pino";
import type { CheckedConfig } from "../gateway/check/check.ts";
import { openDriver } from "../gateway/open-store.ts";
import type { StoreDriver } from "../store/driver.ts";
import { MemoryDriver } from "../store/memory.ts";

/** The store that workers share through the primary; nothing where several processes can use that of the config anyway. */
export async function openOwnStore(
  checked: CheckedConfig,
  where: { readonly cwd: string; readonly log: Logger },
): Promise<StoreDriver | undefined> {
  const driver = await openDriver(checked, where);
  if (!driver?.shared) return driver ?? new MemoryDriver();
  await driver.close();
  return undefined;
}
