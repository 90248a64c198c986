import { Counter, Gauge, type Registry } from "prom-client";

/** What is counted. */
export interface OauthCounts {
  /** Access tokens that were made, by what for. */
  token(grant: string): void;
  /** Requests that were refused, by error code. */
  refused(error: string): void;
  /** Logins that ended before their time. */
  revoked(): void;
}

/** Registers the metrics. */
export function registerMetrics(
  registry: Registry,
  sizes: { readonly grants: () => number; readonly registrations: () => number },
): OauthCounts {
  const registers = [registry];
  const issued = new Counter({
    name: "oauth_tokens_issued_total",
    help: "Access tokens that the authorization server made, by grant type.",
    labelNames: ["grant"],
    registers,
  });
  const refused = new Counter({
    name: "oauth_requests_refused_total",
    help: "Requests that the authorization server refused, by error code.",
    labelNames: ["error"],
    registers,
  });
  const revoked = new Counter({
    name: "oauth_logins_revoked_total",
    help: "Logins that ended before their time.",
    registers,
  });
  gaugeOf("oauth_logins", "Logins that go on.", sizes.grants, registry);
  gaugeOf(
    "oauth_registrations",
    "Programs that registered themselves.",
    sizes.registrations,
    registry,
  );
  return {
    token: (grant) => issued.inc({ grant }),
    refused: (error) => refused.inc({ error }),
    revoked: () => revoked.inc(),
  };
}

function gaugeOf(name: string, help: string, size: () => number, registry: Registry): void {
  const gauge: Gauge = new Gauge({
    name,
    help,
    registers: [registry],
    collect: () => gauge.set(size()),
  });
}
