import type { Credentials } from "propylon/kit";
import type { StandIn } from "propylon/internal";
import type { SessionsOptions } from "./options.ts";
import { findSession, type SessionRoutes } from "./routes.ts";

/**
 * What stands in for the credentials of a request that brings a session's cookie.
 *
 * @param route path of the route as it is registered
 * @throws {GatewayError} `forbidden` for a request that another page may have made
 */
export function findStandIn(
  routes: SessionRoutes,
  options: SessionsOptions,
  credentials: Credentials,
  route: string,
): StandIn | undefined {
  const session = findSession(routes, options, credentials, route);
  if (!session) return undefined;
  const { id, authorization, principal, expiresAt } = session;
  const refused = (): void => void routes.sessions.end((each) => each === session);
  const credential = authorization === undefined ? { identity: principal } : { authorization };
  return { ...credential, expiresAt, claims: { session: id }, refused };
}
