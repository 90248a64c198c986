import type { GatewayConfig, PluginContext } from "propylon";
import { Checks } from "propylon/kit";
import type { Store } from "propylon/store";

/** Tells what should not stay as it is. */
export function warnOfState(
  { add, info }: Pick<PluginContext, "add" | "info">,
  store: Store,
): void {
  add(Checks, {
    name: "oauth-store",
    ask: () => {
      if (store.durable || store.shared) return undefined;
      return {
        message: "oauth: everybody has to log in again after a restart.",
        path: ["plugins", "oauth"],
        hint: "Set store, e.g. store: sqlite:./data/gateway.db.",
      };
    },
  });
  add(Checks, {
    name: "oauth-url",
    ask: () => {
      const { publicUrl } = info.effectiveConfig() as Pick<GatewayConfig, "publicUrl">;
      if (publicUrl !== undefined) return undefined;
      return {
        message: "oauth: publicUrl is not set, so people can log in on this machine only.",
        path: ["publicUrl"],
        hint: "Set publicUrl to the https URL under which people reach the gateway.",
      };
    },
  });
}
