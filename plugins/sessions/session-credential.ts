import type { Credentials } from "propylon/kit";
import type { StandIn } from "propylon/internal";
import { cookieOf } from "./cookie.ts";
import type { SessionsOptions } from "./options.ts";
import type { SessionRoutes } from "./routes.ts";

/**
 * What stands in for the credentials of a request that brings a session's cookie.
 *
 * @param route path of the route as it is registered
 * @throws {GatewayError} `forbidden` for a request that another page may have made
 */
export function findStandIn(
  { sessions, publicUrl }: SessionRoutes,
  { idleTimeout }: SessionsOptions,
  credentials: Credentials,
  route: string,
): StandIn | undefined {
  const sent = cookieOf(credentials, route, publicUrl());
  const session = sent && sessions.use(sent.name, sent.secret, idleTimeout);
  if (!session) return undefined;
  const { id, authorization, principal, expiresAt } = session;
  const refused = (): void => void sessions.end((each) => each === session);
  const credential = authorization === undefined ? { identity: principal } : { authorization };
  return { ...credential, expiresAt, claims: { session: id }, refused };
}
