import fc from "fast-check";
import { expect, it } from "vitest";
import { Loader } from "../../../plugins/team-auth/bearer/loader.ts";
import type { AccessSnapshot } from "../../../plugins/team-auth/bearer/snapshot.ts";
import type { Database } from "../../../plugins/team-auth/tables/tables.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { openTables } from "./kit.ts";

const RUNS = 15;
const IDS = ["0", "1", "2"] as const;
const id = fc.constantFrom(...IDS);
const at = "2026-01-01T00:00:00.000Z";

/** One change by hand, whatever it leads to: rows that are not there, or there already, change nothing. */
const change = fc.oneof(
  fc.record({ table: fc.constant("user"), id, active: fc.nat(1) }),
  fc.record({ table: fc.constant("library"), id, workspace: fc.option(id) }),
  fc.record({ table: fc.constant("token"), id, active: fc.nat(1), library: id, hash: fc.nat(3) }),
  fc.record({ table: fc.constant("team"), id, active: fc.nat(1), workspaces: fc.uniqueArray(id) }),
  fc.record({ table: fc.constant("account"), id, active: fc.nat(1) }),
  fc.record({
    table: fc.constant("membership"),
    id,
    library: id,
    role: fc.constantFrom("owner", "reader"),
  }),
  fc.record({
    table: fc.constantFrom("user", "library", "token", "team", "account", "membership"),
    id,
    gone: fc.constant(true),
  }),
);
type Change = Record<string, unknown> & { readonly table: string; readonly id: string };

const TABLES: Readonly<Record<string, readonly [table: string, key: string]>> = {
  user: ["user", "id"],
  library: ["library", "uid"],
  token: ["token", "id"],
  team: ["team", "id"],
  account: ["service_account", "name"],
  membership: ["membership", "user"],
};

async function apply(db: Database, wanted: Change): Promise<void> {
  const { table, id: key, active } = wanted;
  const [name, column] = TABLES[table]!;
  if (wanted["gone"])
    await db
      .deleteFrom(name as "user")
      .where(column as "id", "=", key)
      .execute();
  else if (table === "user")
    await put(db, "user", "id", { id: key, name: key, active, created_at: at });
  else if (table === "account")
    await put(db, "service_account", "name", { name: key, password: "", active, created_at: at });
  else if (table === "library")
    await put(db, "library", "uid", {
      uid: key,
      name: key,
      workspace_id: wanted["workspace"],
      created_at: at,
    });
  else if (table === "team") await putTeam(db, wanted);
  else if (table === "membership") await putMembership(db, wanted);
  else await putToken(db, wanted);
}

async function put(db: Database, table: string, key: string, row: object): Promise<void> {
  await db
    .insertInto(table as "user")
    .values(row as never)
    .onConflict((conflict) => conflict.column(key as "id").doUpdateSet(row))
    .execute();
}

async function putTeam(db: Database, { id: key, active, workspaces }: Change): Promise<void> {
  const row = {
    id: key,
    name: key,
    active,
    active_jti: `jti-${String(active)}`,
    created_at: at,
    updated_at: at,
  };
  await put(db, "team", "id", row);
  await db.deleteFrom("team_workspace").where("team", "=", key).execute();
  for (const workspace_id of workspaces as string[])
    await db
      .insertInto("team_workspace")
      .values({ team: key, workspace_id, created_at: at })
      .execute();
}

async function putMembership(db: Database, { id: user, library, role }: Change): Promise<void> {
  const users = await db.selectFrom("user").select("id").where("id", "=", user).execute();
  const libraries = db
    .selectFrom("library")
    .select("uid")
    .where("uid", "=", library as string);
  if (users.length === 0 || (await libraries.execute()).length === 0) return;
  await db
    .insertInto("membership")
    .values({ user, library_uid: library, role, created_at: at } as never)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

async function putToken(db: Database, { id: key, active, library, hash }: Change): Promise<void> {
  const user = await db.selectFrom("user").select("id").executeTakeFirst();
  const libraries = await db
    .selectFrom("library")
    .select("uid")
    .where("uid", "=", library as string)
    .execute();
  const digest = `${key}${String(hash)}`.padStart(64, "0");
  if (!user) return;
  const row = {
    id: key,
    user: user.id,
    name: key,
    prefix: "",
    hash: digest,
    active,
    created_at: at,
  };
  await put(db, "token", "id", row);
  await db.deleteFrom("token_library").where("token", "=", key).execute();
  for (const { uid } of libraries)
    await db
      .insertInto("token_library")
      .values({ token: key, library_uid: uid, position: 0 })
      .execute();
}

/** All that a request could learn from it. */
function view(snapshot: AccessSnapshot): unknown {
  const hashes = IDS.flatMap((key) =>
    [0, 1, 2, 3].map((hash) => `${key}${hash}`.padStart(64, "0")),
  );
  const tokens = hashes.map((hash) => snapshot.tokenByHash(hash));
  return {
    epoch: snapshot.epoch,
    tokens: tokens.map((token) => token && { ...token, isOff: snapshot.isOff(token.user) }),
    byId: IDS.map((key) => snapshot.tokenById(key)),
    teams: IDS.map((key) => {
      const team = snapshot.teams.get(key);
      return (
        team && {
          ...team,
          workspaces: team.workspaces.toSorted(),
          libraries: snapshot.librariesOf(team),
        }
      );
    }),
    accounts: IDS.map((key) => snapshot.accounts.get(key)),
    users: IDS.map((key) => snapshot.users.get(key)),
  };
}

it(
  "T016, T075: a snapshot that followed every change is the one that is read whole",
  { timeout: PATIENCE * 60_000 },
  async () => {
    const db = await openTables();
    const loader = new Loader(db, { seal: (text) => text, open: (text) => text });
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 1, maxLength: 12 }),
        fc.nat(3),
        async (changes, often) => {
          const followed = await loader.load();
          for (const [index, each] of changes.entries()) {
            await apply(db, each);
            if (index % (often + 1) === 0) (await loader.since(followed))!(followed);
          }
          (await loader.since(followed))!(followed);
          expect(view(followed)).toEqual(view(await loader.load()));
        },
      ),
      { numRuns: RUNS },
    );
  },
);
