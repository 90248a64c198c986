import { Counter, type Registry } from "prom-client";

/** How a login went on. */
export type LoginStep = "started" | "done" | "failed" | "refused";

/** Counts logins. @returns counts one step of one */
export function registerMetrics(metrics: Registry): (step: LoginStep) => void {
  const logins = new Counter({
    name: "oauth_client_logins_total",
    help: "Logins at servers: started, done, failed at the provider, and redirects that were refused.",
    labelNames: ["step"],
    registers: [metrics],
  });
  return (step) => logins.inc({ step });
}
