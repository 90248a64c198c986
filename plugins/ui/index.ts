import { definePlugin, defineService, optional, type GatewayConfig } from "propylon";
import { perGeneration } from "propylon/kit";
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
    const { control, services } = gateway;
    // Readiness asks, too: the config is looked at once.
    const wantsKey = perGeneration(gateway, () => {
      const { auth } = control.effectiveConfig() as Pick<GatewayConfig, "auth">;
      return (
        auth.apiKey !== undefined || auth.jwt !== undefined || Object.keys(auth.keys).length > 0
      );
    });
    gateway.check("ui-sign-in", () => {
      if (services.sessions || !wantsKey()) return undefined;
      return {
        message: "ui: the gateway wants a key, and nobody can sign in from a browser.",
        path: ["plugins", "ui"],
        hint: "Add sessions: {} to plugins.",
      };
    });
  },
});
