import { type Kysely, PostgresAdapter, sql } from "kysely";

/** A table whose rows decide who may see what. */
interface Watched {
  readonly table: string;
  /** What is noted as changed, and the column that names it. */
  readonly kind: string;
  readonly key: string;
  /** Only a change of these counts: when a token was last used is nobody's right. */
  readonly columns: readonly string[];
}

const WATCHED: readonly Watched[] = [
  { table: "user", kind: "user", key: "id", columns: ["id", "active"] },
  { table: "library", kind: "library", key: "uid", columns: ["uid", "workspace_id"] },
  {
    table: "token",
    kind: "token",
    key: "id",
    columns: ["id", "user", "hash", "active", "expires_at"],
  },
  {
    table: "token_library",
    kind: "token",
    key: "token",
    columns: ["token", "library_uid", "position"],
  },
  {
    table: "team",
    kind: "team",
    key: "id",
    columns: ["id", "active", "active_jti", "former_jti", "former_until", "name"],
  },
  { table: "team_workspace", kind: "team", key: "team", columns: ["team", "workspace_id"] },
  {
    table: "signing_key",
    kind: "key",
    key: "kid",
    columns: ["kid", "alg", "secret", "public_jwk", "state"],
  },
  {
    table: "service_account",
    kind: "account",
    key: "name",
    columns: ["name", "password", "active"],
  },
];

/** A user who logs in sees what the memberships say. */
const MEMBERSHIP: Watched = {
  table: "membership",
  kind: "user",
  key: "user",
  columns: ["user", "library_uid"],
};

const PREFIX = "team_auth__";
const quoted = (name: string): string => `"${name}"`;
const tableOf = (name: string): string => quoted(PREFIX + name);

// eslint-disable-next-line typescript/no-explicit-any -- the tables are being made
type Making = Kysely<any>;

/** One trigger for each table and kind of statement; SQLite has them for rows alone. */
export async function createSqliteTriggers(db: Making): Promise<void> {
  for (const watched of WATCHED) await createSqliteTriggersOf(db, watched);
}

async function createSqliteTriggersOf(db: Making, watched: Watched): Promise<void> {
  const columns = watched.columns.map(quoted).join(", ");
  await createSqliteTrigger(db, watched, "insert", "INSERT", ["NEW"]);
  await createSqliteTrigger(db, watched, "update", `UPDATE OF ${columns}`, ["NEW", "OLD"]);
  await createSqliteTrigger(db, watched, "delete", "DELETE", ["OLD"]);
}

async function createSqliteTrigger(
  db: Making,
  { table, kind, key }: Watched,
  name: string,
  event: string,
  rows: readonly ("NEW" | "OLD")[],
): Promise<void> {
  const notes = rows.map(
    (row) =>
      `INSERT INTO ${tableOf("change")} (epoch, kind, key)
       SELECT value, '${kind}', ${row}.${quoted(key)} FROM ${tableOf("meta")} WHERE name = 'epoch';`,
  );
  await run(
    db,
    `CREATE TRIGGER ${quoted(`${PREFIX}${table}_${name}`)} AFTER ${event} ON ${tableOf(table)}
     FOR EACH ROW BEGIN
       UPDATE ${tableOf("meta")} SET value = value + 1 WHERE name = 'epoch';
       ${notes.join("\n")}
     END`,
  );
}

/**
 * A statement begins with a new epoch, and each of its rows is noted under it. The functions find the tables wherever the session
 * that changes something by hand looks for its own.
 */
export async function createPostgresTriggers(db: Making): Promise<void> {
  await run(
    db,
    `CREATE FUNCTION ${tableOf("bump")}() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
     BEGIN
       UPDATE ${tableOf("meta")} SET value = value + 1 WHERE name = 'epoch';
       IF TG_OP = 'TRUNCATE' THEN
         INSERT INTO ${tableOf("change")} SELECT value, 'all', '' FROM ${tableOf("meta")} WHERE name = 'epoch';
       END IF;
       RETURN NULL;
     END $$`,
  );
  await run(
    db,
    `CREATE FUNCTION ${tableOf("note")}() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
     DECLARE
       before text := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) ->> TG_ARGV[1] END;
       after text := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) ->> TG_ARGV[1] END;
     BEGIN
       INSERT INTO ${tableOf("change")} SELECT value, TG_ARGV[0], key
         FROM ${tableOf("meta")}, (SELECT before UNION SELECT after) AS keys (key)
         WHERE name = 'epoch' AND key IS NOT NULL;
       RETURN NULL;
     END $$`,
  );
  for (const watched of WATCHED) await createPostgresTriggersOf(db, watched);
}

/** Those of the memberships, which decided about nothing at first. */
export async function createMembershipTriggers(db: Making): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  await (isPostgres ? createPostgresTriggersOf : createSqliteTriggersOf)(db, MEMBERSHIP);
}

async function createPostgresTriggersOf(
  db: Making,
  { table, kind, key, columns }: Watched,
): Promise<void> {
  const event = `INSERT OR DELETE OR UPDATE OF ${columns.map(quoted).join(", ")}`;
  const on = tableOf(table);
  const create = (name: string, when: string, what: string): Promise<void> =>
    run(db, `CREATE TRIGGER ${quoted(`${PREFIX}${name}`)} ${when} ON ${on} ${what}`);
  await create(
    "bump",
    `BEFORE ${event}`,
    `FOR EACH STATEMENT EXECUTE FUNCTION ${tableOf("bump")}()`,
  );
  await create(
    "note",
    `AFTER ${event}`,
    `FOR EACH ROW EXECUTE FUNCTION ${tableOf("note")}('${kind}', '${key}')`,
  );
  await create(
    "emptied",
    "BEFORE TRUNCATE",
    `FOR EACH STATEMENT EXECUTE FUNCTION ${tableOf("bump")}()`,
  );
}

async function run(db: Making, statement: string): Promise<void> {
  await sql.raw(statement).execute(db);
}
