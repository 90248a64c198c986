import type { PluginContext } from "propylon";
import type { Store } from "propylon/store";
import { registerAudit } from "./http/audit-routes.ts";
import type { Directory } from "./directory/directory.ts";
import { registerIntrospection } from "./http/introspection.ts";
import type { Issuer } from "./bearer/issuer.ts";
import { registerJwks } from "./http/jwks-route.ts";
import type { TeamAuthOptions } from "./options.ts";
import { registerPages } from "./http/page-routes.ts";
import { registerRest } from "./http/rest-routes.ts";
import { LoggedTeams } from "./http/team-log.ts";
import { registerAccounts, registerSigningKeys, registerTeams } from "./http/team-routes.ts";
import { registerTokens } from "./http/token-routes.ts";
import { registerLibraries, registerMemberships, registerUsers } from "./http/user-routes.ts";

/** The public keys, the interface of consoles, and the administration below `/_meta/team-auth`. */
export function registerRoutes(
  gateway: PluginContext<TeamAuthOptions, { readonly store: typeof Store }>,
  issuer: Issuer,
): void {
  const open = (): Directory => issuer.directory;
  const teams = new LoggedTeams(() => open().teams, gateway.log);
  registerJwks(gateway, issuer);
  registerRest(gateway, {
    teams,
    ownership: gateway.config.teams.ownership,
    store: gateway.services.store,
  });
  registerIntrospection(gateway, issuer);
  registerUsers(gateway, open);
  registerLibraries(gateway, open);
  registerMemberships(gateway, open);
  registerTokens(gateway, open);
  registerTeams(gateway, teams);
  registerSigningKeys(gateway, open);
  registerAccounts(gateway, open);
  registerAudit(gateway, open);
  registerPages(gateway, open);
}
