import { GatewayError, type PluginContext } from "propylon";
import type { BreakerService } from "./service.ts";

/** Seeing all circuits, and closing one by hand. */
export function registerRoutes(gateway: PluginContext, breaker: BreakerService): void {
  gateway.route(
    "GET",
    "/_meta/breakers",
    { access: "viewer", mutates: false, management: true },
    () => ({
      ok: true,
      breakers: Object.fromEntries(
        [...gateway.info.servers.values()]
          .filter(({ status }) => status.transport !== "local")
          .map(({ name }) => [name, breaker.statusOf(name)]),
      ),
    }),
  );
  gateway.route(
    "POST",
    "/_meta/servers/:server/breaker/reset",
    { access: "operator", mutates: true, management: true },
    ({ context }) => {
      const server = context.params?.["server"] ?? "";
      if (!gateway.info.servers.has(server))
        throw new GatewayError("not_found", `No server named "${server}".`);
      breaker.reset(server);
      return { ok: true, server, breaker: breaker.statusOf(server) };
    },
  );
}
