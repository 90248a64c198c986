import type { CheckedConfig } from "../loading/check.ts";
import type { Management } from "../plugin/management-service.ts";
import { Gateway } from "../gateway/gateway.ts";
import type { Managed, StartedWith } from "../gateway/gateway-options.ts";

/** Makes a gateway of a config that was checked. Its management is loaded for the first who asks; it does not know the way itself. */
export function startManaged(checked: CheckedConfig, options: StartedWith): Promise<Gateway> {
  return Gateway.start(checked, { ...options, manage });
}

async function manage(gateway: Managed): Promise<Management> {
  const { createManagement } = await import("./management.ts");
  return createManagement(gateway);
}
