import { definePlugin, defineService, optional } from "propylon";
import { registerChecks } from "./checks.ts";
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
    registerChecks(gateway, gateway.services.sessions !== undefined);
  },
});
