import { createHash } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { freePort } from "../../../core/testing/index.ts";
import { readEpoch } from "../../../plugins/team-auth/directory/changes.ts";
import { isPassword } from "../../../plugins/team-auth/directory/service-accounts.ts";
import type { Database } from "../../../plugins/team-auth/tables/tables.ts";
import { startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { hasPostgres, requirePostgres } from "../postgres/kit.ts";
import { ADMIN, KOTTOS, openDirectory, openTables } from "./kit.ts";

let server: PostgresServer | undefined;
beforeAll(async () => {
  if (hasPostgres) server = await startPostgres(await freePort());
});
afterAll(() => server?.stop());

async function notesSince(db: Database, epoch: number): Promise<string[]> {
  const rows = db.selectFrom("change").selectAll().where("epoch", ">", epoch).orderBy("epoch");
  return [...new Set((await rows.execute()).map(({ kind, key }) => `${kind}:${key}`))];
}

describe.each(["sqlite", "postgres"])("the directory in %s", (kind) => {
  const open = async (): Promise<Database> => {
    if (kind === "postgres") requirePostgres();
    return openTables(kind === "postgres" ? server!.url : undefined);
  };

  it("T029, T030, T031: a user has each role for a library once; granting twice changes nothing", async () => {
    const { directory, entries } = openDirectory(await open());
    await directory.users.create(ADMIN, { id: "ada" });
    await directory.libraries.create(ADMIN, { uid: "lib-a", owner: "ada" });
    const key = { user: "ada", library: "lib-a", role: "reader" } as const;
    await directory.memberships.grant(ADMIN, key);
    const before = entries.length;
    await directory.memberships.grant(ADMIN, key);
    expect(entries).toHaveLength(before);
    const roles = (await directory.memberships.list({ user: "ada" })).map(({ role }) => role);
    expect(roles).toEqual(["owner", "reader"]);
    await expect(
      directory.db
        .insertInto("membership")
        .values({ user: "ada", library_uid: "lib-a", role: "guest" as never, created_at: "" })
        .execute(),
    ).rejects.toThrow(/check|CHECK/);
  });

  it("T032, T033, T034, T036: owners grant everything, managers readers, readers nothing", async () => {
    const { directory } = openDirectory(await open());
    for (const id of ["olga", "max", "rita", "new"]) await directory.users.create(ADMIN, { id });
    await directory.libraries.create(ADMIN, { uid: "lib-a", owner: "olga" });
    const grant = (user: string, role: "owner" | "manager" | "reader", as: string) =>
      directory.memberships.grant({ actor: `user:${as}` }, { user, library: "lib-a", role }, as);
    await grant("max", "manager", "olga");
    await grant("rita", "reader", "max");
    await expect(grant("new", "manager", "max")).rejects.toMatchObject({ code: "forbidden" });
    await expect(grant("new", "reader", "rita")).rejects.toMatchObject({ code: "forbidden" });
    await expect(grant("new", "reader", "new")).rejects.toMatchObject({ code: "not_found" });
    const owner = { user: "olga", library: "lib-a", role: "owner" } as const;
    await expect(directory.memberships.revoke(ADMIN, owner, "max")).rejects.toMatchObject({
      code: "forbidden",
    });
    await expect(directory.libraries.remove(ADMIN, "lib-a", "max")).rejects.toMatchObject({
      code: "forbidden",
    });
    await expect(directory.memberships.revoke(ADMIN, owner)).rejects.toThrow("last owner");
    await expect(directory.users.remove(ADMIN, "olga")).rejects.toThrow("last owner");
    await directory.libraries.update(ADMIN, "lib-a", { name: "Papers" }, "olga");
    expect((await directory.libraries.get("lib-a")).name).toBe("Papers");
    await directory.libraries.remove(ADMIN, "lib-a", "olga");
    expect(await directory.libraries.list()).toEqual([]);
  });

  it("T037, T038, T040, T143: a token takes what its user owns or manages, in order and once", async () => {
    const { directory } = openDirectory(await open());
    await directory.users.create(ADMIN, { id: "ada" });
    for (const uid of ["lib-a", "lib-b", "lib-c"]) await directory.libraries.create(ADMIN, { uid });
    const grant = (library: string, role: "owner" | "manager" | "reader") =>
      directory.memberships.grant(ADMIN, { user: "ada", library, role });
    await grant("lib-a", "manager");
    await grant("lib-b", "owner");
    await grant("lib-c", "reader");
    const scopable = await directory.libraries.scopable("ada");
    expect(scopable.map(({ uid }) => uid)).toEqual(["lib-a", "lib-b"]);
    const create = (libraries: string[]) =>
      directory.tokens.create(ADMIN, { user: "ada", name: "laptop", libraries });
    await expect(create(["lib-a", "lib-c"])).rejects.toMatchObject({
      code: "forbidden",
      data: { libraries: ["lib-c"] },
    });
    const { value } = await create(["lib-b", "lib-a", "lib-b"]);
    expect(value.token.libraries).toEqual(["lib-b", "lib-a"]);
    const empty = await create([]);
    expect((await directory.tokens.get(empty.value.token.id)).libraries).toEqual([]);
  });

  it("T144, T170: of a token only its SHA-256 is kept; no row and no entry holds it", async () => {
    const { directory, entries } = openDirectory(await open());
    await directory.users.create(ADMIN, { id: "ada" });
    const { value } = await directory.tokens.create(ADMIN, { user: "ada", name: "laptop" });
    const { secret, token } = value;
    expect(secret).toMatch(/^ppt_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
    expect(secret.startsWith(`${token.prefix}_`)).toBe(true);
    const row = await directory.db.selectFrom("token").selectAll().executeTakeFirstOrThrow();
    expect(row.hash).toBe(createHash("sha256").update(secret).digest("hex"));
    expect(JSON.stringify([row, entries, await directory.tokens.list()])).not.toContain(
      secret.slice(13, 56),
    );
    expect(JSON.stringify([token, entries])).not.toContain(row.hash);
  });

  it("notes what of a user was changed, and nothing else", async () => {
    const { directory, entries } = openDirectory(await open());
    await directory.users.create(ADMIN, { id: "ada" });
    await directory.users.update(ADMIN, "ada", { active: false });
    expect(entries.at(-1)!.details).toEqual({ active: false });
    await directory.users.update(ADMIN, "ada", { name: "Ada" });
    expect(entries.at(-1)!.details).toEqual({ name: "Ada" });
    expect(await directory.users.get("ada")).toMatchObject({ name: "Ada", active: 0 });
  });

  it("takes what is inserted by hand as active", async () => {
    const { db } = openDirectory(await open()).directory;
    const at = "2026-01-01T00:00:00.000Z";
    for (const statement of [
      sql`INSERT INTO ${sql.table("user")} (id, name, created_at) VALUES ('u', 'U', ${at})`,
      sql`INSERT INTO ${sql.table("team")} (id, name, created_at, updated_at) VALUES ('t', 'T', ${at}, ${at})`,
      sql`INSERT INTO ${sql.table("service_account")} (name, password, created_at) VALUES ('s', 'p', ${at})`,
      sql`INSERT INTO ${sql.table("token")} (id, "user", name, prefix, hash, created_at) VALUES ('k', 'u', 'K', 'ppt', ${"0".repeat(64)}, ${at})`,
    ])
      await statement.execute(db);
    for (const table of ["user", "team", "service_account", "token"] as const) {
      const { active } = await db.selectFrom(table).select("active").executeTakeFirstOrThrow();
      expect([table, active]).toEqual([table, 1]);
    }
  });

  it("notes with whom a library begins, and where", async () => {
    const { directory, entries } = openDirectory(await open());
    await directory.users.create(ADMIN, { id: "ada" });
    const detailsOf = async (input: object): Promise<unknown> => {
      await directory.libraries.create(ADMIN, input as { uid: string });
      return entries.at(-1)!.details;
    };
    expect(await detailsOf({ uid: "lib-a", owner: "ada" })).toEqual({
      owner: "ada",
      workspaceId: null,
    });
    expect(await detailsOf({ uid: "lib-b", workspaceId: "ws-1" })).toEqual({
      workspaceId: "ws-1",
    });
  });

  it("notes what of a token was changed, and nothing else", async () => {
    const { directory, entries } = openDirectory(await open());
    await directory.users.create(ADMIN, { id: "ada" });
    await directory.libraries.create(ADMIN, { uid: "lib-a", owner: "ada" });
    const { id } = (await directory.tokens.create(ADMIN, { user: "ada", name: "laptop" })).value
      .token;
    await directory.tokens.update(ADMIN, id, { name: "phone" });
    expect(entries.at(-1)).toMatchObject({ details: { name: "phone" } });
    expect(entries.at(-1)!.details).not.toHaveProperty("libraries");
    await directory.tokens.update(ADMIN, id, { libraries: ["lib-a"] });
    expect(entries.at(-1)!.details).toEqual({ libraries: ["lib-a"] });
    await directory.tokens.update(ADMIN, id, { libraries: [] });
    expect(entries.at(-1)!.details).toEqual({ libraries: [] });
  });

  it("takes over foreign tokens by their hashes, each once", async () => {
    const { directory } = openDirectory(await open());
    await directory.users.create(ADMIN, { id: "ada" });
    await directory.libraries.create(ADMIN, { uid: "lib-a" });
    const hash = createHash("sha256").update("old secret").digest("hex").toUpperCase();
    const foreign = { user: "ada", name: "from before", hash, libraries: ["lib-a"] };
    const { value } = await directory.tokens.import(ADMIN, [foreign]);
    expect(value[0]).toMatchObject({ user: "ada", libraries: ["lib-a"] });
    await expect(directory.tokens.import(ADMIN, [foreign])).rejects.toMatchObject({
      code: "exists",
    });
    const wrong = { ...foreign, hash: "abc" };
    await expect(directory.tokens.import(ADMIN, [wrong])).rejects.toMatchObject({
      code: "invalid",
    });
  });

  it("T162: a token is replaced by one that sees the same", async () => {
    const { directory } = openDirectory(await open());
    await directory.users.create(ADMIN, { id: "ada" });
    await directory.libraries.create(ADMIN, { uid: "lib-a", owner: "ada" });
    const input = { user: "ada", name: "laptop", libraries: ["lib-a"] };
    const { value: first } = await directory.tokens.create(ADMIN, input);
    const { value: second } = await directory.tokens.replace(ADMIN, first.token.id);
    expect(second.token.libraries).toEqual(["lib-a"]);
    expect(await directory.tokens.get(first.token.id)).toMatchObject({
      active: 0,
      replaced_by: second.token.id,
    });
  });

  it("T035: a reader reads with tokens of before, and the library goes with the user's last role", async () => {
    const { directory } = openDirectory(await open());
    await directory.users.create(ADMIN, { id: "ada" });
    await directory.users.create(ADMIN, { id: "bob" });
    await directory.libraries.create(ADMIN, { uid: "lib-a", owner: "bob" });
    const key = { user: "ada", library: "lib-a", role: "manager" } as const;
    await directory.memberships.grant(ADMIN, key);
    const input = { user: "ada", name: "laptop", libraries: ["lib-a"] };
    const { value } = await directory.tokens.create(ADMIN, input);
    const reader = { ...key, role: "reader" } as const;
    await directory.memberships.grant(ADMIN, reader);
    expect((await directory.memberships.revoke(ADMIN, key)).value).toEqual({ narrowedTokens: 0 });
    expect((await directory.tokens.get(value.token.id)).libraries).toEqual(["lib-a"]);
    await expect(directory.tokens.create(ADMIN, input)).rejects.toMatchObject({
      code: "forbidden",
    });
    expect((await directory.memberships.revoke(ADMIN, reader)).value).toEqual({
      narrowedTokens: 1,
    });
    expect((await directory.tokens.get(value.token.id)).libraries).toEqual([]);
  });

  it("T041, T042, T043, T044, T045, T068, T069, T070, T071, T072, T073, T074: a team is created once, with a token of ten years", async () => {
    const { directory } = openDirectory(await open());
    const { value } = await directory.teams.create(ADMIN, {
      id: KOTTOS.toUpperCase(),
      name: "Kottos",
    });
    expect(value.team).toMatchObject({ id: KOTTOS, name: "Kottos", active: true, workspaces: [] });
    const claims = decodeJwt(value.jwt!);
    expect(claims).toEqual({
      iss: "mnemosyne",
      aud: "mnemosyne",
      sub: `team:${KOTTOS}`,
      typ: "team",
      iat: claims.iat,
      exp: claims.exp,
      jti: value.team.active_jti,
    });
    expect(claims.jti).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    for (const name of ["", "x".repeat(201)])
      expect(() => directory.teams.create(ADMIN, { id: crypto.randomUUID(), name })).toThrow(
        expect.objectContaining({ code: "invalid" }),
      );
    const issued = new Date(claims.iat! * 1_000);
    issued.setUTCFullYear(issued.getUTCFullYear() + 10);
    expect(claims.exp! * 1_000).toBe(issued.getTime());
    const again = await directory.teams.create(ADMIN, { id: KOTTOS, name: "Another" });
    expect(again.value).toEqual({ team: value.team });
  });

  it("T171: the key that signs is sealed, and its 256-bit secret verifies", async () => {
    const { directory } = openDirectory(await open());
    const { value } = await directory.teams.create(ADMIN, { id: KOTTOS, name: "Kottos" });
    const { kid } = decodeProtectedHeader(value.jwt!);
    const row = await directory.db.selectFrom("signing_key").selectAll().executeTakeFirstOrThrow();
    const secret = await directory.keys.reveal(ADMIN, kid!);
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(row.secret).not.toBe(secret);
    await jwtVerify(value.jwt!, new TextEncoder().encode(secret), { algorithms: ["HS256"] });
    expect(JSON.stringify(await directory.keys.list())).not.toContain(row.secret);
  });

  it("T046, T047, T111, T112, T114: workspaces are replaced, each once, and go with the team", async () => {
    const { directory, entries } = openDirectory(await open());
    await directory.teams.create(ADMIN, { id: KOTTOS, name: "Kottos" });
    const set = async (...ids: string[]) =>
      (await directory.teams.setWorkspaces(ADMIN, KOTTOS, ids)).value.workspaces;
    expect(await set("ws-b", "ws-a", "ws-b")).toEqual(["ws-a", "ws-b"]);
    expect(await set("ws-c", "ws-b")).toEqual(["ws-b", "ws-c"]);
    const before = entries.length;
    expect(await set("ws-c", "ws-b")).toEqual(["ws-b", "ws-c"]);
    expect(entries).toHaveLength(before);
    await directory.db.deleteFrom("team").execute();
    expect(await directory.db.selectFrom("team_workspace").selectAll().execute()).toEqual([]);
  });

  it("T178: the team of another owner is not there", async () => {
    const { directory } = openDirectory(await open());
    await directory.teams.create(ADMIN, { id: KOTTOS, name: "Kottos", owner: "a" });
    const missing = { code: "not_found", message: "There is no such team." };
    const { teams } = directory;
    await expect(teams.get(KOTTOS, "b")).rejects.toMatchObject(missing);
    await expect(teams.get("0".repeat(8), "b")).rejects.toMatchObject(missing);
    await expect(teams.setWorkspaces(ADMIN, KOTTOS, [], "b")).rejects.toMatchObject(missing);
    await expect(teams.rotate(ADMIN, KOTTOS, { owner: "b" })).rejects.toMatchObject(missing);
    await expect(teams.deactivate(ADMIN, KOTTOS, "b")).rejects.toMatchObject(missing);
    expect(await teams.list("b")).toEqual([]);
    expect(await teams.list("a")).toHaveLength(1);
  });

  it("T103: accounts have a password that is not kept", async () => {
    const { directory } = openDirectory(await open());
    const password = "correct horse battery";
    await directory.accounts.create(ADMIN, "daedalus-service", password);
    const row = await directory.db
      .selectFrom("service_account")
      .selectAll()
      .executeTakeFirstOrThrow();
    expect(row.password).not.toContain(password);
    expect(await isPassword(password, row.password)).toBe(true);
    expect(await isPassword("another password", row.password)).toBe(false);
    await expect(directory.accounts.create(ADMIN, "a:b", password)).rejects.toMatchObject({
      code: "invalid",
    });
  });

  it("writes each change and its entry together or not at all, under an epoch of its own", async () => {
    const db = await open();
    const { directory, epochs } = openDirectory(db);
    await directory.users.create(ADMIN, { id: "ada" });
    await expect(directory.users.create(ADMIN, { id: "ada" })).rejects.toMatchObject({
      code: "exists",
    });
    await directory.libraries.create(ADMIN, { uid: "lib-a" });
    const rows = await db.selectFrom("audit").select(["action", "target", "actor"]).execute();
    expect(rows).toEqual([
      { action: "user.create", target: "user:ada", actor: "key:admin" },
      { action: "library.create", target: "library:lib-a", actor: "key:admin" },
    ]);
    expect(epochs[1]).toBeGreaterThan(epochs[0]!);
    expect(await readEpoch(db)).toBe(epochs[1]);
  });

  it("notes what a change by hand is about, and not when a token was used", async () => {
    const db = await open();
    const { directory } = openDirectory(db);
    await directory.users.create(ADMIN, { id: "ada" });
    await directory.libraries.create(ADMIN, { uid: "lib-a", owner: "ada" });
    const input = { user: "ada", name: "laptop", libraries: ["lib-a"] };
    const { id } = (await directory.tokens.create(ADMIN, input)).value.token;
    const before = await readEpoch(db);
    await sql`UPDATE ${sql.table("user")} SET active = 0`.execute(db);
    expect(await notesSince(db, before)).toEqual(["user:ada"]);
    const then = await readEpoch(db);
    expect(then).toBeGreaterThan(before);
    await db.updateTable("token").set({ last_used_at: "now" }).execute();
    expect(await readEpoch(db)).toBe(then);
    await db.deleteFrom("user").execute();
    expect(await notesSince(db, then)).toEqual(expect.arrayContaining(["user:ada", `token:${id}`]));
  });
});
