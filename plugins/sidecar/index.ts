import { definePlugin } from "propylon";
import { Checks, Files, Metrics } from "propylon/kit";
import { commands } from "./commands.ts";
import { installedPackages, PACKAGES } from "propylon/plugins/nats";
import { run } from "./life.ts";
import { optionsSchema } from "./options.ts";
import { registerPanels } from "./panels.ts";
import { registerRoutes } from "./routes.ts";
import { TaskQueue } from "./service.ts";
import { settle } from "./settings.ts";
import { assemble, missing } from "./sidecar.ts";
import { registerTools } from "./tools.ts";

export * from "./service.ts";

/** Feeds a runtime from a durable queue, and takes tasks for it. */
export default definePlugin({
  name: "sidecar",
  config: optionsSchema,
  commands,
  inject: { files: Files, metrics: Metrics },
  provides: TaskQueue,
  // $NATS_URL may name servers where it runs.
  needs: ({ nats }) => ({ packages: nats.url === undefined ? installedPackages() : PACKAGES }),
  setup(gateway) {
    const settings = settle(gateway.config, process.env, gateway.services.files.folder);
    const sidecar = assemble(gateway, settings);
    registerTools(gateway, sidecar);
    registerRoutes(gateway, sidecar);
    registerPanels(gateway);
    if (settings.readiness) gateway.add(Checks, { name: "sidecar", ask: () => missing(sidecar) });
    run(gateway, sidecar);
    return sidecar.queue;
  },
});
