import { isGatewayError } from "propylon";
import { readRef } from "propylon/internal";
import type { Account } from "propylon/plugins/access";
import type { Directory } from "../directory/directory.ts";
import type { AccessSnapshot } from "./snapshot.ts";
import { timestamp } from "../tables/tables.ts";

const CALLER = { known: true, active: true, roles: ["caller"] } as const;

/** Where accounts are looked up. */
export interface AccountSource {
  readonly directory: Pick<Directory, "db" | "users">;
  readonly replica: { readonly snapshot: AccessSnapshot };
}

/**
 * What is known of a team, a user or a service account, for code that explains why it may or may not do something.
 *
 * @param ref `kind:id`
 * @returns `undefined` for one that is not in our tables: somebody else's tokens may be about users and services, too
 * @throws {GatewayError} `unavailable` before the gateway has started, and while the database is away
 */
export function explainAccount(
  ref: string,
  source: AccountSource,
): Account | undefined | Promise<Account | undefined> {
  const { kind, id } = readRef(ref);
  switch (kind) {
    case "team":
      return teamOf(id, source);
    case "user":
      return userOf(id, source);
    case "service":
      return serviceOf(id, source);
    default:
      return undefined;
  }
}

function teamOf(id: string, { replica: { snapshot } }: AccountSource): Account {
  const team = snapshot.teams.get(id);
  const roles = CALLER.roles;
  if (!team)
    return {
      known: false,
      active: false,
      roles,
      reason: "There is no such team.",
      change: "Create it with POST /mcp_server/api/teams/.",
    };
  const libraries = snapshot.librariesOf(team);
  if (team.active) return { ...CALLER, libraries };
  const change = "Activate it with propylon team-auth team reactivate.";
  return { known: true, active: false, roles, libraries, reason: "The team is deleted.", change };
}

async function userOf(id: string, source: AccountSource): Promise<Account | undefined> {
  const { directory, replica } = source;
  const user = await directory.users.get(id).catch(absent);
  if (!user) return undefined;
  // Who logs in has the name of an issuer in front, and sees what the memberships say.
  const member = id.includes(":") ? (replica.snapshot.users.get(id)?.libraries ?? []) : [];
  const libraries = [...new Set([...(await librariesOf(id, directory)), ...member])].toSorted();
  const account = { ...CALLER, libraries };
  if (user.active !== 0) return account;
  const reason = "The user account is disabled.";
  return { ...account, active: false, reason, change: "Activate the user." };
}

/** Everything that one of a user's tokens sees. */
async function librariesOf(
  user: string,
  { db }: AccountSource["directory"],
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("token_library")
    .innerJoin("token", "token.id", "token_library.token")
    .select("library_uid")
    .distinct()
    .where("token.user", "=", user)
    .where("token.active", "=", 1)
    .where((where) =>
      where.or([
        where("token.expires_at", "is", null),
        where("token.expires_at", ">", timestamp()),
      ]),
    )
    .orderBy("library_uid")
    .execute();
  return rows.map(({ library_uid }) => library_uid);
}

function serviceOf(name: string, { replica: { snapshot } }: AccountSource): Account | undefined {
  const account = snapshot.accounts.get(name);
  if (!account) return undefined;
  const known = { ...CALLER, roles: ["service"] as const };
  if (account.active !== 0) return known;
  const reason = "The service account is disabled.";
  return { ...known, active: false, reason, change: "Activate the account." };
}

function absent(error: unknown): undefined {
  if (isGatewayError(error) && error.code === "not_found") return undefined;
  throw error;
}
