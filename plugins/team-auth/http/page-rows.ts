import type { Token } from "../directory/tokens.ts";
import { groupRows } from "../tables/group.ts";
import type { Sight } from "./sight.ts";

/** A state, as a page shows it. */
export function switchState(active: boolean): string {
  return active ? "active" : "switched off";
}

/** Users with their tokens and roles. */
export async function userRows(sight: Sight): Promise<readonly object[]> {
  const tokens = groupRows(await sight.active(), ({ user }) => user);
  const memberships = groupRows(await sight.memberships(), ({ user }) => user);
  return (await sight.users()).map((row) => ({
    ...row,
    state: switchState(row.active === 1),
    tokens: tokens.get(row.id)?.length ?? 0,
    libraries: (memberships.get(row.id) ?? []).map((one) => `${one.library_uid} (${one.role})`),
  }));
}

/** Libraries with those who have a role for them. */
export async function libraryRows(sight: Sight): Promise<readonly object[]> {
  const memberships = groupRows(await sight.memberships(), ({ library_uid }) => library_uid);
  return (await sight.libraries()).map((row) => {
    const roles = groupRows(memberships.get(row.uid) ?? [], ({ role }) => role);
    const usersWith = (role: string): readonly string[] =>
      (roles.get(role) ?? []).map(({ user }) => user);
    return {
      ...row,
      assigned: row.workspace_id !== null,
      owners: usersWith("owner"),
      managers: usersWith("manager"),
      readers: usersWith("reader"),
    };
  });
}

/** Tokens with their states. */
export async function tokenRows(sight: Sight): Promise<readonly object[]> {
  return (await sight.tokens()).map((token) => {
    const { prefix, id, kind, libraries } = token;
    const sees = kind === "admin" ? ["administrates"] : libraries;
    return { ...token, shown: prefix || id, sees, state: tokenState(token) };
  });
}

function tokenState({ replaced_by, active, expires_at }: Token): string {
  if (replaced_by !== null) return "replaced";
  if (active === 0) return "revoked";
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? "expired" : "active";
}

/** Teams with the libraries that they see. */
export async function teamRows(sight: Sight): Promise<readonly object[]> {
  const seenIn = await sight.seen();
  return (await sight.teams()).map((team) => ({
    ...team,
    state: switchState(team.active),
    sees: seenIn(team.workspaces),
  }));
}
