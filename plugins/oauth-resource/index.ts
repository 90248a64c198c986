import { definePlugin, optional } from "propylon";
import { Authenticators, Management, Metrics } from "propylon/kit";
import { Accounts } from "propylon/plugins/access";
import { Challenges } from "./challenge.ts";
import { createResourceService } from "./create-service.ts";
import { AUTHENTICATOR, createTokens } from "./create-tokens.ts";
import { IssuerDocuments } from "./issuer/documents.ts";
import { evictLost } from "./evict-lost.ts";
import { TokenIssuers } from "./issuer/issuers.ts";
import { registerMetrics } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { findResources } from "./resources.ts";
import { registerRoutes } from "./routes.ts";
import { ScopeRoles } from "./scopes.ts";
import { OauthResource } from "./service.ts";
import { tellRefusals } from "./tell-refusals.ts";
import { registerWarnings } from "./warnings.ts";

export { issuerNameSchema } from "./options.ts";
export { normalUrl } from "./resources.ts";
export * from "./service.ts";

/** Lets people in with access tokens of authorization servers, and tells clients where to log in. */
export default definePlugin({
  name: "oauth-resource",
  config: optionsSchema,
  provides: OauthResource,
  inject: { management: Management, metrics: Metrics, accounts: optional(Accounts) },
  setup(gateway) {
    const { config } = gateway;
    const { accounts, management, metrics } = gateway.services;
    const documents = new IssuerDocuments(config);
    const issuers = new TokenIssuers(config.issuers, documents);
    if (accounts) issuers.requireQualified();
    const scopes = new ScopeRoles(config.scopes);
    const resources = findResources(gateway);
    const challenges = new Challenges(resources, scopes);
    const onRefusal = tellRefusals(gateway.log, registerMetrics(metrics));
    const parts = { issuers, resources, scopes, challenges, accounts, onRefusal };
    const tokens = createTokens(gateway, parts);
    gateway.add(Authenticators, {
      name: AUTHENTICATOR,
      authenticate: tokens.authenticate,
      isSigned: tokens.isSigned,
      refusal: tokens.refusal,
      challenge: (path, isRefused) => challenges.unauthorized(path, isRefused),
      stepUp: (path, principal, access) => challenges.stepUp(path, principal, access),
    });
    registerWarnings(gateway, resources, issuers);
    registerRoutes(gateway, {
      resources,
      issuers: () => issuers.all.map(({ url }) => url),
      scopes: scopes.known,
    });
    evictLost(gateway, management, tokens);
    gateway.onStart(() => issuers.warm());
    gateway.onDispose(() => documents.close());
    return createResourceService(resources, scopes, issuers);
  },
});
