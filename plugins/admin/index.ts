import { definePlugin, optional } from "propylon";
import { Management, Files } from "propylon/kit";
import { Store } from "propylon/store";
import { Breaker } from "propylon/plugins/breaker";
import { Gating } from "propylon/plugins/gating";
import { Health } from "propylon/plugins/health";
import { Administration } from "./administration.ts";
import { callRoutes } from "./call-routes.ts";
import { clientRoutes } from "./client-routes.ts";
import { changeRoutes } from "./change-routes.ts";
import { commands } from "./commands.ts";
import { configRoutes } from "./config-routes.ts";
import { editRoutes } from "./edit-routes.ts";
import { interfaceRoutes } from "./interface-routes.ts";
import { lifecycleRoutes } from "./lifecycle-routes.ts";
import { optionsSchema } from "./options.ts";
import { serverRoutes } from "./server-routes.ts";

export type { PromptView, ResourceView, ServerView, ToolView } from "./administration.ts";
export type { ManualCall, RunningCallView } from "./call-routes.ts";
export type { ClientsView } from "./client-routes.ts";
export type { ConfigOriginView } from "./edit-routes.ts";
export type { InterfaceView } from "./interface-routes.ts";
export type { EndpointView, ServerDetails, ToolNameView } from "./server-routes.ts";

/** The management API below `/_meta`: what runs, and everything that can be changed while it runs. */
export default definePlugin({
  name: "admin",
  config: optionsSchema,
  commands,
  inject: {
    files: Files,
    management: Management,
    store: Store,
    gating: Gating,
    breaker: optional(Breaker),
    health: optional(Health),
  },
  setup(gateway) {
    const { services, config } = gateway;
    const administration = new Administration(gateway, services);
    serverRoutes(gateway, administration);
    changeRoutes(gateway, services.gating);
    lifecycleRoutes(gateway, administration);
    configRoutes(gateway, administration, config);
    editRoutes(gateway, config);
    interfaceRoutes(gateway);
    clientRoutes(gateway);
    callRoutes(gateway);
  },
});
