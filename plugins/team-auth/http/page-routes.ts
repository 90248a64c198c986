import { GatewayError, type PluginContext, type RouteEvent } from "propylon";
import { isObject, parseJson, pathParameter } from "propylon/kit";
import { type AuditVerdict, verifyAudit } from "../audit/audit-check.ts";
import type { AuditRow } from "../audit/audit.ts";
import type { Directory } from "../directory/directory.ts";
import { requireAdministrating } from "../directory/reach.ts";
import { PAGES } from "../operations/page-operations.ts";
import { reachOf } from "./asker.ts";
import { newest } from "./audit-routes.ts";
import { HITS } from "./hits.ts";
import { libraryRows, switchState, teamRows, tokenRows, userRows } from "./page-rows.ts";
import { Sight } from "./sight.ts";

/** Rows of the audit that are shown; a shell exports all. */
const NEWEST = 500;

/** What the pages of the web interface read. */
export function registerPages(gateway: PluginContext, open: () => Directory): void {
  const sightOf = async (event: RouteEvent): Promise<Sight> =>
    new Sight(open(), await reachOf(event, open().db));
  PAGES.users.serve(gateway, async (event) => ({ users: await userRows(await sightOf(event)) }));
  PAGES.libraries.serve(gateway, async (event) => {
    const sight = await sightOf(event);
    requireAdministrating(sight.reach);
    return { libraries: await libraryRows(sight) };
  });
  PAGES.tokens.serve(gateway, async (event) => {
    const sight = await sightOf(event);
    const { reach } = sight;
    const users = reach ? [reach.user] : (await sight.users()).map(({ id }) => id);
    return { tokens: await tokenRows(sight), users };
  });
  PAGES.scopes.serve(gateway, async (event) => {
    const reach = await reachOf(event, open().db);
    const { user, libraries } = await open().tokens.get(pathParameter(event, "id"), reach);
    // A token that reads only narrows itself.
    const lent = reach?.kind === "access" ? [] : await open().libraries.scopable(user);
    return { libraries: [...new Set([...libraries, ...lent.map(({ uid }) => uid)])] };
  });
  PAGES.teams.serve(gateway, async (event) => ({ teams: await teamRows(await sightOf(event)) }));
  PAGES.accounts.serve(gateway, async () => ({
    accounts: (await open().accounts.list()).map((row) => ({
      ...row,
      state: switchState(row.active),
    })),
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
