import { definePlugin, defineService, optional } from "propylon";
import { Checks, perGeneration } from "propylon/kit";
import { optionsSchema } from "./options.ts";
import { registerRoutes } from "./routes.ts";

/** By its id: the module of the plugin is for those that have it, not for every start. */
const sessions = optional(defineService<object>("sessions"));

/** The web interface below `/ui`: pages that do what the management API can do, and hold no state of their own. */
export default definePlugin({
  name: "ui",
  config: optionsSchema,
  inject: { sessions },
  setup(gateway) {
    registerRoutes(gateway);
    const { info, services } = gateway;
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
        if (services.sessions || !wantsKey()) return undefined;
        return {
          message: "ui: the gateway wants a key, and nobody can sign in from a browser.",
          path: ["plugins", "ui"],
          hint: "Add sessions: {} to plugins.",
        };
      },
    });
  },
});
