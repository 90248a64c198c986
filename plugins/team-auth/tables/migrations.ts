import { type Kysely, PostgresAdapter, sql, type CreateTableBuilder } from "kysely";
import type { Migration } from "propylon/store";
import {
  createMembershipTriggers,
  createPostgresTriggers,
  createSqliteTriggers,
} from "./triggers.ts";

/** What stands before the first row of all. */
const NOTHING = "0".repeat(64);

/**
 * The two ends of the chain: `head`, its newest row, without which a cut at the end could not be told from no change, and `base`,
 * the newest row that the retention removed.
 */
// eslint-disable-next-line typescript/no-explicit-any -- tables are different before and after each step
async function createAuditEnds(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable("audit_end")
    .addColumn("name", "text", (column) => column.primaryKey().notNull())
    .addColumn("seq", "bigint", (column) => column.notNull())
    .addColumn("hash", "text", (column) => column.notNull())
    .execute();
  const ends = ["head", "base"].map((name) => ({ name, seq: 0, hash: NOTHING }));
  await db.insertInto("audit_end").values(ends).execute();
}

/** The tables from the beginning to now; see {@link Tables}. */
export const MIGRATIONS: readonly Migration[] = [
  createTables,
  createAuditEnds,
  createMembershipTriggers,
  createTokenKinds,
];

// eslint-disable-next-line typescript/no-explicit-any -- no table is there yet
type Empty = Kysely<any>;

async function createTables(db: Empty): Promise<void> {
  await createPeople(db);
  await createTokens(db);
  await createTeams(db);
  await createAccess(db);
  await createRecords(db);
  await createReplication(db);
  const { adapter } = db.getExecutor();
  if (adapter instanceof PostgresAdapter) await createPostgresTriggers(db);
  else await createSqliteTriggers(db);
}

/** Earlier tokens only read: those that administrated have to be made again, by an admin. */
async function createTokenKinds(db: Empty): Promise<void> {
  await db.schema
    .alterTable("token")
    .addColumn("kind", "text", (column) =>
      column
        .notNull()
        .defaultTo("access")
        .check(sql`kind IN ('access', 'admin')`),
    )
    .execute();
}

async function createPeople(db: Empty): Promise<void> {
  await keyed(db, "user", "id")
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("active", "integer", (column) => column.notNull().defaultTo(1))
    .addColumn("created_at", "text", (column) => column.notNull())
    .execute();
  await keyed(db, "library", "uid")
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("workspace_id", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .execute();
  await index(db, "library", "workspace_id");
  await db.schema
    .createTable("membership")
    .addColumn("user", "text", (column) =>
      column.notNull().references("user.id").onDelete("cascade"),
    )
    .addColumn("library_uid", "text", (column) =>
      column.notNull().references("library.uid").onDelete("cascade"),
    )
    .addColumn("role", "text", (column) =>
      column.notNull().check(sql`role IN ('owner', 'manager', 'reader')`),
    )
    .addColumn("created_at", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("team_auth__membership_key", ["user", "library_uid", "role"])
    .execute();
  await index(db, "membership", "library_uid");
}

async function createTokens(db: Empty): Promise<void> {
  await keyed(db, "token", "id")
    .addColumn("user", "text", (column) =>
      column.notNull().references("user.id").onDelete("cascade"),
    )
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("prefix", "text", (column) => column.notNull())
    .addColumn("hash", "char(64)", (column) => column.notNull().unique())
    .addColumn("active", "integer", (column) => column.notNull().defaultTo(1))
    .addColumn("expires_at", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("last_used_at", "text")
    .addColumn("replaced_by", "text")
    .execute();
  await index(db, "token", "user");
  await db.schema
    .createTable("token_library")
    .addColumn("token", "text", (column) =>
      column.notNull().references("token.id").onDelete("cascade"),
    )
    .addColumn("library_uid", "text", (column) =>
      column.notNull().references("library.uid").onDelete("cascade"),
    )
    .addColumn("position", "integer", (column) => column.notNull())
    .addPrimaryKeyConstraint("team_auth__token_library_key", ["token", "library_uid"])
    .execute();
  await index(db, "token_library", "library_uid");
}

async function createTeams(db: Empty): Promise<void> {
  await keyed(db, "team", "id")
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("active", "integer", (column) => column.notNull().defaultTo(1))
    .addColumn("active_jti", "text")
    .addColumn("former_jti", "text")
    .addColumn("former_until", "text")
    .addColumn("owner", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("updated_at", "text", (column) => column.notNull())
    .execute();
  // A workspace need not exist: it counts from the moment at which a library names it.
  await db.schema
    .createTable("team_workspace")
    .addColumn("team", "text", (column) =>
      column.notNull().references("team.id").onDelete("cascade"),
    )
    .addColumn("workspace_id", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("team_auth__team_workspace_key", ["team", "workspace_id"])
    .execute();
}

async function createAccess(db: Empty): Promise<void> {
  await keyed(db, "signing_key", "kid")
    .addColumn("alg", "text", (column) => column.notNull())
    .addColumn("secret", "text", (column) => column.notNull())
    .addColumn("public_jwk", "text")
    .addColumn("state", "text", (column) =>
      column.notNull().check(sql`state IN ('signing', 'verifying', 'retired')`),
    )
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("retired_at", "text")
    .execute();
  await keyed(db, "service_account", "name")
    .addColumn("password", "text", (column) => column.notNull())
    .addColumn("active", "integer", (column) => column.notNull().defaultTo(1))
    .addColumn("created_at", "text", (column) => column.notNull())
    .execute();
}

async function createRecords(db: Empty): Promise<void> {
  await keyed(db, "replay", "jti")
    .addColumn("expires_at", "text", (column) => column.notNull())
    .execute();
  await index(db, "replay", "expires_at");
  await db.schema
    .createTable("audit")
    .addColumn("seq", "bigint", (column) => column.primaryKey())
    .addColumn("at", "text", (column) => column.notNull())
    .addColumn("actor", "text", (column) => column.notNull())
    .addColumn("action", "text", (column) => column.notNull())
    .addColumn("target", "text", (column) => column.notNull())
    .addColumn("details", "text")
    .addColumn("correlation", "text")
    .addColumn("prev", "text", (column) => column.notNull())
    .addColumn("hash", "text", (column) => column.notNull())
    .execute();
  await index(db, "audit", "at");
}

async function createReplication(db: Empty): Promise<void> {
  await keyed(db, "meta", "name")
    .addColumn("value", "bigint", (column) => column.notNull())
    .execute();
  await db
    .insertInto("meta")
    .values([
      { name: "epoch", value: 1 },
      { name: "trimmed", value: 1 },
    ])
    .execute();
  await db.schema
    .createTable("change")
    .addColumn("epoch", "bigint", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("key", "text", (column) => column.notNull())
    .execute();
  await index(db, "change", "epoch");
  await keyed(db, "replica", "id")
    .addColumn("applied", "bigint", (column) => column.notNull())
    .addColumn("renewed_at", "double precision", (column) => column.notNull())
    .execute();
}

function keyed(db: Empty, table: string, key: string): CreateTableBuilder<string, string> {
  return db.schema
    .createTable(table)
    .addColumn(key, "text", (column) => column.primaryKey().notNull());
}

function index(db: Empty, table: string, column: string): Promise<void> {
  return db.schema.createIndex(`${table}_${column}`).on(table).column(column).execute();
}
