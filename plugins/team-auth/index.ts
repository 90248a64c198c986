import { definePlugin } from "propylon";
import { Issuer } from "./issuer.ts";
import { registerMetrics } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { registerRoutes } from "./routes.ts";
import { Libraries } from "./service.ts";

export * from "./service.ts";

/** Decides which libraries a bearer sees: users with tokens, teams, and consoles that act for one turn. */
export default definePlugin({
  name: "team-auth",
  config: optionsSchema,
  provides: Libraries,
  setup(gateway) {
    const issuer = new Issuer(gateway, registerMetrics(gateway.metrics));
    gateway.use("gate", (call, next) => {
      issuer.permit(call);
      return next(call);
    });
    registerRoutes(gateway, issuer);
    gateway.authenticator("team-auth", (credentials) => issuer.authenticate(credentials), {
      refusal: (credentials) => issuer.refusal(credentials),
    });
    gateway.check("team-auth", () => issuer.check());
    // `propylon check` looks at the config alone.
    gateway.onStart(() => (gateway.control.dryRun ? undefined : issuer.open()));
    return issuer.libraries;
  },
});
