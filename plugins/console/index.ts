import { definePlugin } from "propylon";
import { commands } from "./commands.ts";
import { createParts } from "./create-parts.ts";
import { registerMetrics } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { registerPanels } from "./panels.ts";
import { registerRoutes } from "./routes.ts";

/** The control side of agent teams: instances, workspaces, and what is attached to what. */
export default definePlugin({
  name: "console",
  config: optionsSchema,
  commands,
  setup(gateway) {
    const metrics = registerMetrics(gateway.metrics);
    const parts = createParts(gateway, metrics);
    registerRoutes(gateway, parts);
    registerPanels(gateway);
    gateway.onStart(() => parts.start());
    gateway.onDispose(() => parts.close());
  },
});
