import { expect, it } from "vitest";
import {
  libraryRows,
  teamRows,
  tokenRows,
  userRows,
} from "../../../plugins/team-auth/http/page-rows.ts";
import { Sight } from "../../../plugins/team-auth/http/sight.ts";
import type { Directory } from "../../../plugins/team-auth/directory/directory.ts";
import type { Database, Tables } from "../../../plugins/team-auth/tables/tables.ts";
import { openDirectory, openTables } from "./kit.ts";

const at = "2026-01-01T00:00:00.000Z";
const numbers = (count: number): number[] => Array.from({ length: count }, (_, each) => each);

/** Teams, each with five workspaces of as many libraries, and a user with a token for every library. */
async function fill(db: Database, { teams, libraries }: Record<string, number>): Promise<void> {
  const insert = async (table: keyof Tables, rows: readonly object[]): Promise<void> => {
    for (let from = 0; from < rows.length; from += 500)
      await db
        .insertInto(table)
        .values(rows.slice(from, from + 500))
        .execute();
  };
  const former = { former_jti: null, former_until: null };
  const team = {
    owner: null,
    active: 1,
    active_jti: "j",
    ...former,
    created_at: at,
    updated_at: at,
  };
  const token = { kind: "access", prefix: "", active: 1, expires_at: null, last_used_at: null };
  const times = { created_at: at, replaced_by: null };
  await insert(
    "user",
    numbers(libraries!).map((id) => ({ id: `u${id}`, name: "u", active: 1, created_at: at })),
  );
  await insert(
    "library",
    numbers(libraries!).map((id) => ({
      uid: `l${id}`,
      name: "l",
      workspace_id: `w${id % 300}`,
      created_at: at,
    })),
  );
  await insert(
    "membership",
    numbers(libraries!).map((id) => ({
      user: `u${id}`,
      library_uid: `l${id}`,
      role: "owner",
      created_at: at,
    })),
  );
  await insert(
    "token",
    numbers(libraries!).map((id) => ({
      ...token,
      ...times,
      id: `t${id}`,
      user: `u${id}`,
      name: "t",
      hash: `h${id}`,
    })),
  );
  await insert(
    "token_library",
    numbers(libraries!).map((id) => ({ token: `t${id}`, library_uid: `l${id}`, position: 0 })),
  );
  await insert(
    "team",
    numbers(teams!).map((id) => ({ ...team, id: `team-${id}`, name: "team" })),
  );
  await insert(
    "team_workspace",
    numbers(teams! * 5).map((id) => ({
      team: `team-${Math.floor(id / 5)}`,
      workspace_id: `w${id % 300}`,
      created_at: at,
    })),
  );
}

/** What a page reads: its queries by their tables, and its rows. */
const PAGES = {
  teams: [teamRows, ["library", "team", "team_workspace"]],
  libraries: [libraryRows, ["library", "membership"]],
  users: [userRows, ["membership", "token", "token_library", "user"]],
  tokens: [tokenRows, ["token", "token_library"]],
} as const;

/** Names the table of each query that a sight of an admin makes. */
function spied(db: Database): { readonly directory: Directory; readonly tables: string[] } {
  const tables: string[] = [];
  const plugin = {
    transformQuery: ({ node }: { node: object }) => {
      tables.push(
        /"from":\{.*?"identifier":\{"kind":"IdentifierNode","name":"team_auth__(\w+)"/.exec(
          JSON.stringify(node),
        )![1]!,
      );
      return node;
    },
    transformResult: async ({ result }: { result: object }) => result,
  };
  return { directory: openDirectory(db.withPlugin(plugin as never)).directory, tables };
}

it("load: a page reads each table once, however many rows there are", async () => {
  const db = await openTables();
  await fill(db, { teams: 60, libraries: 150 });
  const { directory, tables } = spied(db);
  for (const [page, [read, expected]] of Object.entries(PAGES)) {
    tables.length = 0;
    const rows = await read(new Sight(directory, undefined));
    expect([page, rows.length]).toEqual([page, page === "teams" ? 60 : 150]);
    expect([page, tables.toSorted()]).toEqual([page, [...expected]]);
  }
});

it("load: four times the rows of a page take no sixteen times as long", async () => {
  const time = async (teams: number, libraries: number): Promise<number[]> => {
    const db = await openTables();
    await fill(db, { teams, libraries });
    const { directory } = openDirectory(db);
    const cost = async (read: (sight: Sight) => Promise<unknown>): Promise<number> => {
      const runs: number[] = [];
      for (let run = 0; run < 5; run++) {
        const begun = process.cpuUsage();
        await read(new Sight(directory, undefined));
        const { user, system } = process.cpuUsage(begun);
        runs.push(user + system);
      }
      return Math.min(...runs);
    };
    const costs: number[] = [];
    for (const [read] of Object.values(PAGES)) costs.push(await cost(read));
    return costs;
  };
  const [small, large] = [await time(150, 375), await time(600, 1_500)];
  for (const [page, cost] of large.entries()) expect(cost / small[page]!).toBeLessThan(9);
});

it("19: a token is shown as replaced, revoked, expired or active, in this order", async () => {
  const token = { id: "t", prefix: "", kind: "access", libraries: [], active: 1 };
  const rows = [
    { ...token, active: 0, replaced_by: "other", expires_at: at },
    { ...token, active: 0, replaced_by: null, expires_at: at },
    { ...token, replaced_by: null, expires_at: at },
    { ...token, replaced_by: null, expires_at: "9999-01-01T00:00:00.000Z" },
    { ...token, replaced_by: null, expires_at: null },
  ];
  const sight = { tokens: () => Promise.resolve(rows) } as unknown as Sight;
  expect((await tokenRows(sight)).map((row) => (row as { state: string }).state)).toEqual([
    "replaced",
    "revoked",
    "expired",
    "active",
    "active",
  ]);
});
