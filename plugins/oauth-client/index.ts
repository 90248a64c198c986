import { definePlugin } from "propylon";
import { McpServers } from "propylon/plugins/servers";
import { commands } from "./commands.ts";
import { createDesk } from "./create-desk.ts";
import { optionsSchema } from "./options.ts";
import { registerRoutes } from "./routes.ts";
import { registerTools } from "./tools.ts";
import { warnOfPassingLogins } from "./warnings.ts";

/** Logs in at servers that want OAuth: once for the gateway, or for each of its people. */
export default definePlugin({
  name: "oauth-client",
  config: optionsSchema,
  commands,
  inject: { servers: McpServers },
  setup(gateway) {
    const { servers } = gateway.services;
    const parts = createDesk(gateway, servers);
    const { accounts, desk, introduction } = parts;
    registerTools(gateway, { accounts, desk, servers });
    const tools = gateway.filter(
      ({ server }) => server !== "oauth-client" || accounts.servers.some((each) => each.isPersonal),
    );
    warnOfPassingLogins(gateway, parts.isSealLasting);
    registerRoutes(gateway, desk, introduction);
    gateway.hook("reload:done", () => tools.changed());
    gateway.hook("gateway:ready", () => tools.changed());
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
