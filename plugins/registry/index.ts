import { definePlugin } from "propylon";
import { Listeners } from "propylon/kit";
import { Agents } from "propylon/plugins/agents";
import { RegistryCatalogue } from "./catalogue.ts";
import { optionsSchema } from "./options.ts";
import { LISTENER, registerRoutes } from "./routes.ts";
import { warnOfRefusals } from "./warnings.ts";

/** Lists the agents for clients, as a list and as an official registry would. */
export default definePlugin({
  name: "registry",
  config: optionsSchema,
  inject: { agents: Agents },
  setup(gateway) {
    const { config, services } = gateway;
    const catalogue = new RegistryCatalogue(() => services.agents.list(), config);
    if (config.listener) gateway.add(Listeners, { ...config.listener, name: LISTENER });
    registerRoutes(gateway, catalogue);
    if (!config.strictSchema) warnOfRefusals(gateway, services.agents.list());
  },
});
