import { GatewayError, type PluginContext, type RouteEvent } from "propylon";
import { isObject, parseJson, pathParameter } from "propylon/kit";
import { type AuditVerdict, verifyAudit } from "../audit/audit-check.ts";
import type { AuditRow } from "../audit/audit.ts";
import type { Directory } from "../directory/directory.ts";
import { requireAdministrating } from "../directory/reach.ts";
import type { Token } from "../directory/tokens.ts";
import { PAGES } from "../operations/page-operations.ts";
import { reachOf } from "./asker.ts";
import { newest } from "./audit-routes.ts";
import { HITS } from "./hits.ts";
import { Sight } from "./sight.ts";

/** Rows of the audit that are shown; a shell exports all. */
const NEWEST = 500;

/** What the pages of the web interface read. */
export function registerPages(gateway: PluginContext, open: () => Directory): void {
  const sightOf = async (event: RouteEvent): Promise<Sight> =>
    new Sight(open(), await reachOf(event, open().db));
  PAGES.users.serve(gateway, async (event) => ({ users: await usersOf(await sightOf(event)) }));
  PAGES.libraries.serve(gateway, async (event) => {
    const sight = await sightOf(event);
    requireAdministrating(sight.reach);
    return { libraries: await librariesOf(sight) };
  });
  PAGES.tokens.serve(gateway, async (event) => {
    const sight = await sightOf(event);
    const { reach } = sight;
    const users = reach ? [reach.user] : (await sight.users()).map(({ id }) => id);
    return { tokens: (await sight.tokens()).map(tokenOf), users };
  });
  PAGES.scopes.serve(gateway, async (event) => {
    const reach = await reachOf(event, open().db);
    const { user, libraries } = await open().tokens.get(pathParameter(event, "id"), reach);
    // A token that reads only narrows itself.
    const lent = reach?.kind === "access" ? [] : await open().libraries.scopable(user);
    return { libraries: [...new Set([...libraries, ...lent.map(({ uid }) => uid)])] };
  });
  PAGES.teams.serve(gateway, async (event) => {
    const sight = await sightOf(event);
    const rows = (await sight.teams()).map(async (team) => ({
      ...team,
      state: stateOf(team.active),
      sees: await sight.seenIn(team.workspaces),
    }));
    return { teams: await Promise.all(rows) };
  });
  PAGES.accounts.serve(gateway, async () => ({
    accounts: (await open().accounts.list()).map((row) => ({ ...row, state: stateOf(row.active) })),
  }));
  PAGES.audit.serve(gateway, async () => {
    const audit: AuditRow[] = [];
    for await (const row of newest(open().db, NEWEST)) audit.push(row);
    return { audit };
  });
  PAGES.verdict.serve(gateway, async () => ({ said: sentenceOf(await verifyAudit(open().db)) }));
  PAGES.hits.serve(gateway, async (event, read) => {
    const { of, value = "{}", ...params } = await read();
    const sight = await sightOf(event);
    if (!of.startsWith("token ")) requireAdministrating(sight.reach);
    const filled = parseJson(Buffer.from(value), event.context.maxDepth);
    if (!Object.hasOwn(HITS, of))
      throw new GatewayError("not_found", "There is no such change.", {
        hint: "Name a change of the pages of team-auth.",
      });
    const row = params as Readonly<Record<string, string>>;
    return HITS[of]!({ sight, row, value: isObject(filled) ? filled : {}, directory: open() });
  });
}

function sentenceOf(verdict: AuditVerdict): string {
  if (!verdict.ok) return `Row ${verdict.seq} is ${verdict.problem}. Compare it with an export.`;
  return `The chain is whole: ${verdict.rows} ${verdict.rows === 1 ? "row" : "rows"}.`;
}

function stateOf(active: boolean): string {
  return active ? "active" : "switched off";
}

async function usersOf(sight: Sight): Promise<readonly object[]> {
  const [tokens, memberships] = [await sight.active(), await sight.memberships()];
  return (await sight.users()).map((row) => ({
    ...row,
    state: stateOf(row.active === 1),
    tokens: tokens.filter(({ user }) => user === row.id).length,
    libraries: memberships
      .filter(({ user }) => user === row.id)
      .map(({ library_uid, role }) => `${library_uid} (${role})`),
  }));
}

async function librariesOf(sight: Sight): Promise<readonly object[]> {
  const memberships = await sight.memberships();
  return (await sight.libraries()).map((row) => {
    const usersWith = (role: string): readonly string[] =>
      memberships
        .filter((one) => one.library_uid === row.uid && one.role === role)
        .map(({ user }) => user);
    const roles = { owners: "owner", managers: "manager", readers: "reader" };
    const users = Object.entries(roles).map(([name, role]) => [name, usersWith(role)] as const);
    return { ...row, assigned: row.workspace_id !== null, ...Object.fromEntries(users) };
  });
}

function tokenOf(token: Token): object {
  const { prefix, id, kind, libraries } = token;
  const sees = kind === "admin" ? ["administrates"] : libraries;
  return { ...token, shown: prefix || id, sees, state: tokenState(token) };
}

function tokenState({ replaced_by, active, expires_at }: Token): string {
  if (replaced_by !== null) return "replaced";
  if (active === 0) return "revoked";
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? "expired" : "active";
}
