import { definePlugin } from "propylon";
import { Management, Audit, Metrics } from "propylon/kit";
import { BoundedLog } from "propylon/internal";
import { Store } from "propylon/store";
import { OauthResource } from "propylon/plugins/oauth-resource";
import { Authorization } from "./endpoints/authorization.ts";
import { createServer } from "./create-server.ts";
import { registerMetrics } from "./metrics.ts";
import type { OauthError } from "./oauth-error.ts";
import { optionsSchema } from "./options.ts";
import { refusalFacts } from "./refusal-facts.ts";
import { registerRoutes } from "./routes.ts";
import { TokenEndpoint } from "./endpoints/token-endpoint.ts";
import { startUpkeep } from "./upkeep.ts";
import { warnOfState } from "./warnings.ts";

/** An authorization server: people log in at an OpenID provider, and their programs get tokens for this gateway. */
export default definePlugin({
  name: "oauth",
  config: optionsSchema,
  inject: {
    audit: Audit,
    management: Management,
    metrics: Metrics,
    resource: OauthResource,
    store: Store,
  },
  setup(gateway) {
    const { config, info, log, services } = gateway;
    const { parts, close } = createServer(gateway, (grant, reason) => {
      counts.revoked();
      services.management.evict(({ claims }) => claims?.["grant"] === grant, reason);
    });
    const counts = registerMetrics(services.metrics, {
      grants: () => parts.grants.size,
      registrations: () => parts.registrations.size,
    });
    const refusals = new BoundedLog((facts, message) => log.info(facts, message));
    const onRefusal = (error: OauthError): void => {
      counts.refused(error.code);
      refusals.tell(error.code, refusalFacts(error), "a login was refused");
    };
    const tokens = new TokenEndpoint(parts, (kind, { id, client, person }, event) => {
      counts.token(kind);
      if (kind === "authorization_code")
        services.audit("login", { login: id, client, person: person.subject }, {}, event);
    });
    warnOfState(gateway, services.store);
    const authorization = new Authorization(parts, onRefusal);
    registerRoutes(gateway, { parts, authorization, tokens, onRefusal });
    const { verify } = parts.access;
    const leave = services.resource.accept({ name: config.name, url: parts.issuer, verify });
    // `propylon check` looks at the config alone.
    gateway.onStart(() => (info.dryRun ? undefined : startUpkeep(parts, log)));
    gateway.onDispose(async () => {
      leave();
      await close();
    });
  },
});
