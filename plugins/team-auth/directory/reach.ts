import { GatewayError } from "propylon";
import { found } from "../refusals.ts";
import type { Database, TokenKind } from "../tables/tables.ts";

/** The token that somebody asks the administration with, as its row is at that moment. */
export interface AskingToken {
  readonly id: string;
  readonly user: string;
  readonly kind: TokenKind;
  readonly expires_at: string | null;
}

/** What a token goes no further than; `undefined`: an admin asks, who may everything. */
export type Reach = AskingToken | undefined;

/** What is done with a token that is there. */
export type TokenDeed = "change" | "replace" | "revoke";

/**
 * The row is read in the transaction of the change: a request that was let in before its token was revoked changes nothing after.
 *
 * @throws {GatewayError} `unauthorized` for a token that does not count any more
 */
export async function readAsking(db: Database, id: string): Promise<AskingToken> {
  const row = await db
    .selectFrom("token")
    .innerJoin("user", "user.id", "token.user")
    .select(["token.id", "token.user", "token.kind", "token.expires_at"])
    .where("token.id", "=", id)
    .where("token.active", "=", 1)
    .where("user.active", "=", 1)
    .executeTakeFirst();
  if (row && !isOver(row)) return row;
  throw new GatewayError("unauthorized", "The credential was revoked.");
}

/** A token that reads is there for itself alone, one that administrates for all tokens of its user. */
export function isInReach(reach: Reach, token: Pick<AskingToken, "id" | "user">): boolean {
  if (reach?.kind === "access") return token.id === reach.id;
  return reach === undefined || token.user === reach.user;
}

/**
 * Who steals a token has no more than that token: one that reads only loses, and one that administrates changes tokens that read.
 *
 * @throws {GatewayError} `not_found` for a token out of reach, as for one that is not there; `forbidden`
 */
export function requireReach(reach: Reach, token: AskingToken, deed: TokenDeed): void {
  if (!reach) return;
  if (!isInReach(reach, token)) found(undefined, "token");
  const isSelf = token.id === reach.id;
  if (reach.kind === "access" ? deed !== "replace" : token.kind === "access") return;
  if (isSelf && deed === "revoke") return;
  throw beyond(`A token cannot ${deed} ${isSelf ? "itself" : "one that administrates"}.`);
}

/** @throws {GatewayError} `forbidden` for a token that reads, and for one that would administrate */
export function requireMinting(reach: Reach, kind: TokenKind, user: string): void {
  if (!reach) return;
  requireAdministrating(reach);
  requireSelf(reach, user);
  if (kind === "admin") throw beyond("Only an admin makes a token that administrates.");
}

/** @throws {GatewayError} `forbidden` for a token that reads */
export function requireAdministrating(reach: Reach): void {
  if (reach?.kind !== "access") return;
  throw new GatewayError("forbidden", "A token that reads administrates nothing but itself.", {
    hint: "Use a token of the kind admin, or a key with the role admin.",
  });
}

/** @throws {GatewayError} `forbidden` for what concerns another user, whether there is such a user or not */
export function requireSelf(reach: Reach, user: string): void {
  if (!reach || reach.user === user) return;
  throw new GatewayError("forbidden", "This concerns another user.", {
    hint: "Name yourself, or ask an admin.",
  });
}

/**
 * When something ends that a token makes: with that token at the latest.
 *
 * @param wanted default: as late as may be
 * @throws {GatewayError} `forbidden` for a later end
 */
export function endWithin(reach: Reach, wanted: string | null | undefined): string | null {
  const last = reach?.expires_at ?? null;
  if (last === null) return wanted ?? null;
  if (wanted === undefined || wanted === null) return last;
  if (Date.parse(wanted) <= Date.parse(last)) return wanted;
  throw beyond(`Nothing that a token makes or changes ends after it: ${last}.`);
}

/**
 * What a token adds ends with it, too: a token that ends and adds a library to one without end would outlive itself.
 *
 * @param end of the token that gets the libraries
 * @throws {GatewayError} `forbidden` for libraries that a token that reads does not have, and for those that would be there longer
 */
export function requireNarrower(reach: Reach, added: readonly string[], end: string | null): void {
  if (!reach || added.length === 0) return;
  if (reach.kind === "access") throw beyond("A token cannot add a library to itself.");
  const last = reach.expires_at;
  if (last === null || (end !== null && Date.parse(end) <= Date.parse(last))) return;
  throw beyond(`A token adds libraries only to what ends with it: set expires_at to ${last}.`);
}

function isOver({ expires_at }: AskingToken): boolean {
  return expires_at !== null && (Date.parse(expires_at) || 0) <= Date.now();
}

function beyond(sentence: string): GatewayError {
  return new GatewayError("forbidden", sentence, {
    hint: "Use a key with the role admin.",
  });
}
