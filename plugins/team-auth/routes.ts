import type { PluginContext } from "propylon";
import type { Store } from "propylon/store";
import { adminRoutes } from "./admin-replies.ts";
import { registerAudit } from "./audit-routes.ts";
import type { Directory } from "./directory.ts";
import { registerIntrospection } from "./introspection.ts";
import type { Issuer } from "./issuer.ts";
import { registerJwks } from "./jwks-route.ts";
import type { TeamAuthOptions } from "./options.ts";
import { registerRest } from "./rest-routes.ts";
import { LoggedTeams } from "./team-log.ts";
import { registerAccounts, registerSigningKeys, registerTeams } from "./team-routes.ts";
import { registerTokens } from "./token-routes.ts";
import { registerLibraries, registerMemberships, registerUsers } from "./user-routes.ts";

/** The public keys, the interface of consoles, and the administration below `/_meta/team-auth`. */
export function registerRoutes(
  gateway: PluginContext<TeamAuthOptions, { readonly store: typeof Store }>,
  issuer: Issuer,
): void {
  const open = (): Directory => issuer.directory;
  const teams = new LoggedTeams(() => open().teams, gateway.log);
  const routes = adminRoutes(gateway);
  registerJwks(gateway, issuer);
  registerRest(gateway, {
    teams,
    ownership: gateway.config.teams.ownership,
    store: gateway.services.store,
  });
  registerIntrospection(gateway, issuer);
  registerUsers(routes, open);
  registerLibraries(routes, open);
  registerMemberships(routes, open);
  registerTokens(routes, open);
  registerTeams(routes, teams);
  registerSigningKeys(routes, open);
  registerAccounts(routes, open);
  registerAudit(routes, open);
}
