import { Counter, type Registry } from "prom-client";
import type { AccessTokenFault } from "./refusal.ts";

/** Registers `oauth_tokens_refused_total`; the function counts one. */
export function registerMetrics(registry: Registry): (reason: AccessTokenFault) => void {
  const counter = new Counter({
    name: "oauth_tokens_refused_total",
    help: "Access tokens that were not accepted, by reason.",
    labelNames: ["reason"],
    registers: [registry],
  });
  return (reason) => counter.inc({ reason });
}
