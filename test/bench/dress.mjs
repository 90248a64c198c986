/** The config in which a gateway is measured as it is run in production. */
import { createHash } from "node:crypto";
import path from "node:path";
import { configOf } from "./team.mjs";

/** The key that clients have in production. */
export const KEY = "bench-key-of-production-0123456789";

/**
 * Options under which every stage does its work and refuses nothing: the limits are far above what the load asks for, since a
 * refusal is cheaper than a call.
 * @param gateway two gateways cannot have one state file
 */
export function optionsIn(directory, gateway) {
  const rate = { rate: 1_000_000, burst: 1_000_000 };
  return {
    admin: {},
    breaker: {},
    events: {},
    gating: { state: path.join(directory, `${gateway}.json`) },
    history: {},
    metrics: {},
    openapi: {},
    ratelimit: {
      rates: { caller: { per: "principal", ...rate }, tool: { per: "tool", ...rate } },
      concurrency: { server: { per: "server", maxRunning: 1_000 } },
    },
  };
}

/** As it is run: clients have keys, and each call has its line in the log. */
export function production(directory, name = "production") {
  const hash = `sha256:${createHash("sha256").update(KEY).digest("hex")}`;
  return {
    plugins: optionsIn(directory, name),
    auth: { keys: { bench: { role: "caller", hash } } },
    log: { level: "info", format: "json" },
  };
}

/** The same with state in SQLite, tokens of teams, and one trace of ten exported. */
export function fullDress(directory, store, collector) {
  const { plugins, ...rest } = production(directory, "full");
  const { plugins: team } = configOf(store);
  const telemetry = { endpoint: collector, sampling: 0.1 };
  return { ...rest, store, plugins: { ...plugins, ...team, telemetry } };
}
