import { definePlugin } from "propylon";
import { perGeneration } from "propylon/kit";
import { Challenges } from "./challenge.ts";
import { IssuerDocuments } from "./documents.ts";
import { isCrowded, TokenIssuers } from "./issuers.ts";
import { registerMetrics } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { Outages } from "./outages.ts";
import { findResources } from "./resources.ts";
import { registerRoutes } from "./routes.ts";
import { ScopeRoles } from "./scopes.ts";
import { AccessTokens } from "./tokens.ts";
import { registerWarnings } from "./warnings.ts";

/** Lets people in with access tokens of authorization servers, and tells clients where to log in. */
export default definePlugin({
  name: "oauth-resource",
  config: optionsSchema,
  setup(gateway) {
    const { config, control, metrics } = gateway;
    const documents = new IssuerDocuments(config);
    const issuers = new TokenIssuers(config.issuers, documents);
    const scopes = new ScopeRoles(config.scopes);
    const resources = findResources(gateway);
    const challenges = new Challenges(resources, scopes);
    const onRefusal = registerMetrics(metrics);
    const tokens = new AccessTokens({
      issuers,
      resources,
      audiences: config.audiences,
      scopes,
      challenges,
      isCrowded: perGeneration(gateway, () => isCrowded(issuers, control)),
      outages: new Outages(gateway.log),
      onRefusal,
    });
    gateway.authenticator("oauth", tokens.authenticate, {
      challenge: (path, isRefused) => challenges.unauthorized(path, isRefused),
      stepUp: (path, principal, access) => challenges.stepUp(path, principal, access),
    });
    registerWarnings(gateway, resources);
    registerRoutes(gateway, {
      resources,
      issuers: issuers.all.map(({ url }) => url),
      scopes: scopes.known,
    });
    // What was opened with a token of before, and is not for everyone any more who has one.
    gateway.hook("reload:done", () => {
      const isLost = (principal: Parameters<typeof tokens.accepts>[0]): boolean =>
        Array.isArray(principal.claims?.["audiences"]) && !tokens.accepts(principal);
      control.evict(isLost, "The token does not count any more: the configuration has changed.");
    });
    gateway.onStart(() => {
      for (const { check } of issuers.all) void check.warm();
    });
    gateway.onDispose(() => documents.close());
  },
});
