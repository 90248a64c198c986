import { randomUUID } from "node:crypto";
import { GatewayError, type RouteEvent } from "propylon";
import { admits } from "propylon/kit";
import type { Author } from "../directory/changes.ts";
import { type Reach, readAsking, requireAdministrating, requireSelf } from "../directory/reach.ts";
import { credentialOf } from "../bearer/resolver.ts";
import type { Database } from "../tables/tables.ts";

/** Ids of requests that others make up stand in logs and in the audit. */
const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** Who asks, for the audit: with the id under which the asking system knows its request, or a new one. */
export function authorOf(event: RouteEvent): Author {
  const given = event.req.headers.get("x-request-id") ?? "";
  const correlation = REQUEST_ID.test(given) ? given : randomUUID();
  return { actor: event.context.principal.ref, token: tokenOf(event), correlation };
}

/**
 * How far the caller may go: with a token no further than with that token, without limit as an admin.
 *
 * @throws {GatewayError} `forbidden` for everybody else, also for somebody of a user's name who did not come with a token of these
 * tables
 */
export async function reachOf(event: RouteEvent, db: Database): Promise<Reach> {
  if (isAdmin(event)) return undefined;
  const token = tokenOf(event);
  if (token !== undefined) return readAsking(db, token);
  throw new GatewayError("forbidden", "This needs the role admin, or a token of one's own.", {
    hint: "Use a key with the role admin, or a token of the kind admin of the user who owns or manages the library.",
  });
}

/**
 * The user whose own rights count for a request; `undefined` for an admin, who may everything.
 *
 * @throws {GatewayError} `forbidden` for everybody else, also for a token that reads
 */
export async function askingUser(event: RouteEvent, db: Database): Promise<string | undefined> {
  const reach = await reachOf(event, db);
  requireAdministrating(reach);
  return reach?.user;
}

/**
 * As {@link askingUser}, for what concerns one user alone.
 *
 * @throws {GatewayError} `forbidden` for another user
 */
export async function askingFor(event: RouteEvent, db: Database, user: string): Promise<void> {
  const reach = await reachOf(event, db);
  requireAdministrating(reach);
  requireSelf(reach, user);
}

const isAdmin = ({ context }: RouteEvent): boolean => admits(context.principal, "admin");

/** Id of the token that a user came with. */
function tokenOf(event: RouteEvent): string | undefined {
  const { principal } = event.context;
  const credential = principal.kind === "user" ? credentialOf(principal) : undefined;
  return credential?.kind === "token" && !isAdmin(event) ? credential.id : undefined;
}
