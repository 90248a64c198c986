import { definePlugin } from "propylon";
import { Filters, Lists, Metrics } from "propylon/kit";
import { Store } from "propylon/store";
import { McpServers } from "propylon/plugins/servers";
import { commands } from "./commands.ts";
import { createLoginFlow } from "./create-login-flow.ts";
import { optionsSchema } from "./options.ts";
import { registerRoutes } from "./routes.ts";
import { registerTools } from "./tools.ts";
import { warnOfPassingLogins } from "./warnings.ts";

/** Logs in at servers that want OAuth: once for the gateway, or for each of its people. */
export default definePlugin({
  name: "oauth-client",
  config: optionsSchema,
  commands,
  inject: { lists: Lists, metrics: Metrics, servers: McpServers, store: Store },
  setup(gateway) {
    const { lists, servers, store } = gateway.services;
    const parts = createLoginFlow(gateway);
    const { accounts, flow, introduction } = parts;
    registerTools(gateway, { accounts, flow, servers });
    gateway.add(Filters, {
      shows: ({ server }) =>
        server !== "oauth-client" || accounts.servers.some((each) => each.isPersonal),
    });
    warnOfPassingLogins(gateway, store, parts.isSealLasting);
    registerRoutes(gateway, flow, introduction);
    gateway.hook("reload:done", () => lists.changed());
    gateway.hook("gateway:ready", () => lists.changed());
    gateway.onStart(async () => {
      const leave = servers.loginWith(accounts);
      const stop = await parts.listen();
      return () => {
        stop();
        leave();
      };
    });
    gateway.onDispose(() => parts.close());
  },
});
