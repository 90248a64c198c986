import type { PluginContext } from "propylon";
import { Checks, perGeneration } from "propylon/kit";

/** Registers warnings about pages that show nothing, or that nobody can open. */
export function registerChecks(
  gateway: Pick<PluginContext, "add" | "info" | "hook">,
  hasSessions: boolean,
): void {
  const { info } = gateway;
  // Those of the config's `auth` have no plugin.
  const wantsKey = perGeneration(gateway, () =>
    info.describe().authenticators.some(({ plugin }) => plugin === undefined),
  );
  gateway.add(Checks, {
    name: "ui-admin",
    ask: () => {
      const { plugins } = info.effectiveConfig() as { plugins: Record<string, unknown> };
      if (Object.hasOwn(plugins, "admin")) return undefined;
      return {
        message: "ui: its pages have nothing to show without the plugin admin.",
        path: ["plugins", "ui"],
        hint: "Add admin: {} to plugins.",
      };
    },
  });
  gateway.add(Checks, {
    name: "ui-sign-in",
    ask: () => {
      if (hasSessions || !wantsKey()) return undefined;
      return {
        message: "ui: the gateway wants a key, and nobody can sign in from a browser.",
        path: ["plugins", "ui"],
        hint: "Add sessions: {} to plugins.",
      };
    },
  });
}
