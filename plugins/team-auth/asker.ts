import { randomUUID } from "node:crypto";
import { admits, GatewayError, type Principal, type RouteEvent } from "propylon";
import type { Author } from "./changes.ts";

/** Ids of requests that others make up stand in logs and in the audit. */
const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** Who asks, for the audit: with the id under which the asking system knows its request, or a new one. */
export function authorOf({ req, context }: RouteEvent): Author {
  const given = req.headers.get("x-request-id") ?? "";
  const correlation = REQUEST_ID.test(given) ? given : randomUUID();
  return { actor: context.principal.ref, correlation };
}

/** Whether a principal is a user who came with a token of these tables, and not somebody of that name from elsewhere. */
export type IsOwnUser = (principal: Principal) => boolean;

/**
 * The user whose own rights count for a request; `undefined` for an admin, who may everything.
 *
 * @throws {GatewayError} `forbidden` for everybody else
 */
export function askingUser({ context }: RouteEvent, isOwn: IsOwnUser): string | undefined {
  const { principal } = context;
  if (admits(principal, "admin")) return undefined;
  if (isOwn(principal)) return principal.ref.slice("user:".length);
  throw new GatewayError("forbidden", "This needs the role admin, or a token of one's own.", {
    hint: "Use a key with the role admin, or the token of the user who owns or manages the library.",
  });
}

/**
 * As {@link askingUser}, for what concerns one user alone.
 *
 * @throws {GatewayError} `forbidden` for another user
 */
export function askingFor(event: RouteEvent, isOwn: IsOwnUser, user: string): void {
  const asking = askingUser(event, isOwn);
  if (asking === undefined || asking === user) return;
  throw new GatewayError("forbidden", "This concerns another user.", {
    hint: "Name yourself, or ask an admin.",
  });
}
