import { definePlugin } from "propylon";
import { Authenticators, Checks, Management, EventKinds, Metrics } from "propylon/kit";
import { Database, Store } from "propylon/store";
import { BASIC_CHALLENGE, createBasicLogin } from "./bearer/basic.ts";
import { commands } from "./commands.ts";
import { events } from "./events.ts";
import { Issuer } from "./bearer/issuer.ts";
import { registerMetrics } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { CONSOLES } from "./http/rest-routes.ts";
import { registerPanels } from "./panels.ts";
import { registerRoutes } from "./routes.ts";
import { Libraries } from "./service.ts";

export type { AuditNews, TeamNews } from "./events.ts";
export * from "./service.ts";

/** Decides which libraries a bearer sees: users with tokens, teams, and consoles that act for one turn. */
export default definePlugin({
  name: "team-auth",
  config: optionsSchema,
  inject: { management: Management, metrics: Metrics, openDatabase: Database, store: Store },
  provides: Libraries,
  commands,
  setup(gateway) {
    for (const kind of events) gateway.add(EventKinds, kind);
    const failed = registerMetrics(gateway.services.metrics);
    const issuer = new Issuer(gateway, failed);
    const accounts = createBasicLogin(issuer, failed);
    gateway.use("gate", (call, next) => {
      issuer.permit(call);
      return next(call);
    });
    registerRoutes(gateway, issuer);
    registerPanels(gateway);
    gateway.add(Authenticators, {
      name: "team-auth",
      authenticate: (credentials) => issuer.authenticate(credentials),
      refusal: (credentials) => issuer.refusal(credentials),
    });
    gateway.add(Authenticators, {
      name: "service-accounts",
      authenticate: (credentials) => accounts.authenticate(credentials),
      refusal: (credentials) => accounts.refusal(credentials),
      challenge: (path) => (path.startsWith(CONSOLES) ? BASIC_CHALLENGE : undefined),
    });
    gateway.add(Checks, { name: "team-auth", ask: () => issuer.check() });
    // `propylon check` looks at the config alone.
    gateway.onStart(() => (gateway.info.dryRun ? undefined : issuer.open()));
    return issuer.service;
  },
});
