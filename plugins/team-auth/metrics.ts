import { Counter, type Registry } from "prom-client";
import { REASONS, type RefusalReason } from "./refusals.ts";

/** Registers `mcp_auth_failures_total`; the function counts one. */
export function registerMetrics(registry: Registry): (reason: RefusalReason) => void {
  const counter = new Counter({
    name: "mcp_auth_failures_total",
    help: "Bearers that were refused, by reason.",
    labelNames: ["reason"],
    registers: [registry],
  });
  // A rate begins with the first refusal, and not with the second.
  for (const reason of REASONS) counter.inc({ reason }, 0);
  return (reason) => counter.inc({ reason });
}
