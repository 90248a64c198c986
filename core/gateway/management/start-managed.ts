import { Gateway } from "../gateway.ts";
import type { StartedWith, UpperServices } from "../gateway-options.ts";
import type { CheckedConfig } from "../check/check.ts";

/** The gateway does not know the way to them itself. */
const SERVICES: UpperServices = {
  async management(gateway) {
    const { createManagement } = await import("./management.ts");
    return createManagement(gateway);
  },
  async audit(gateway, plugin) {
    const { createPluginAudit } = await import("./plugin-audit.ts");
    return createPluginAudit(gateway, plugin);
  },
};

/** Makes a gateway of a config that was checked, with the services that stand above it. */
export function startManaged(checked: CheckedConfig, options: StartedWith): Promise<Gateway> {
  return Gateway.start(checked, { ...options, services: SERVICES });
}
