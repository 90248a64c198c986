import type { PluginContext } from "propylon";
import { adminRoutes } from "./admin-replies.ts";
import type { IsOwnUser } from "./asker.ts";
import { registerAudit } from "./audit-routes.ts";
import type { Directory } from "./directory.ts";
import { registerRest } from "./rest-routes.ts";
import { LoggedTeams } from "./team-log.ts";
import { registerAccounts, registerSigningKeys, registerTeams } from "./team-routes.ts";
import { registerTokens } from "./token-routes.ts";
import { registerLibraries, registerMemberships, registerUsers } from "./user-routes.ts";

/** What the routes stand on. */
export interface RouteParts {
  /** @throws {GatewayError} `unavailable` before the tables are open */
  readonly open: () => Directory;
  /** Whether each service account sees its own teams alone. */
  readonly ownership: boolean;
  readonly isOwn: IsOwnUser;
}

/** The interface of consoles, and the administration below `/_meta/team-auth`. */
export function registerRoutes(gateway: PluginContext, parts: RouteParts): void {
  const { open, ownership, isOwn } = parts;
  const teams = new LoggedTeams(() => open().teams, gateway.log);
  const routes = adminRoutes(gateway);
  registerRest(gateway, { teams, ownership });
  registerUsers(routes, open);
  registerLibraries(routes, open, isOwn);
  registerMemberships(routes, open, isOwn);
  registerTokens(routes, open, isOwn);
  registerTeams(routes, teams);
  registerSigningKeys(routes, open);
  registerAccounts(routes, open);
  registerAudit(routes, open);
}
