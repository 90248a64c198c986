import { definePlugin } from "propylon";
import { optionsSchema } from "./options.ts";
import { registerRoutes } from "./routes.ts";

/** The web interface below `/ui`: pages that do what the management API can do, and hold no state of their own. */
export default definePlugin({
  name: "ui",
  config: optionsSchema,
  setup(gateway) {
    registerRoutes(gateway);
  },
});
