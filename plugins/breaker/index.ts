import { definePlugin, GatewayError, optional } from "propylon";
import { Audit, Metrics } from "propylon/kit";
import { Gating } from "propylon/plugins/gating";
import { Circuits } from "./circuits.ts";
import { registerMetrics } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { registerRoutes } from "./routes.ts";
import { Breaker } from "./service.ts";

export * from "./service.ts";

/** Stops calling servers that keep failing, and tries them again from time to time. */
export default definePlugin({
  name: "breaker",
  config: optionsSchema,
  inject: { audit: Audit, metrics: Metrics, gating: optional(Gating) },
  provides: Breaker,
  setup(gateway) {
    const { gating, metrics } = gateway.services;
    if (gateway.config.autoDisable && !gating)
      throw new GatewayError("invalid", "autoDisable needs the plugin gating.", {
        hint: "Add gating to plugins, or leave autoDisable out.",
      });
    const circuits = new Circuits(gateway, gating);
    gateway.use("breaker", (call, next) => {
      const circuit = circuits.of(call.server);
      return circuit ? circuit.pass(call, next) : next(call);
    });
    registerRoutes(gateway, circuits);
    registerMetrics(metrics, circuits);
    gateway.hook("reload:done", ({ servers }) =>
      circuits.forget([...servers.removed, ...servers.changed]),
    );
    // Who switches a server on wants it called.
    gateway.hook("gating:changed", ({ server, tool, enabled }) => {
      if (enabled && tool === undefined) circuits.reset(server);
    });
    return circuits;
  },
});
