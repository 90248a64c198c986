import { GatewayError } from "propylon";
import type { ClientBase, Pool } from "pg";

/** Of the tables' form. */
const VERSION = 1;
/** Oldest server with everything that is used, as PostgreSQL writes it. */
const OLDEST_SERVER = 130_000;

/** What a database must be to hold the tables, as it is. */
interface Fitness {
  readonly version: number;
  readonly encoding: string;
  readonly standby: boolean;
}

/**
 * Makes the tables where they are missing.
 *
 * @throws {GatewayError} `invalid` for a database that cannot hold them, or whose tables a newer program made
 */
export async function prepareTables(pool: Pool, schema: string): Promise<void> {
  await checkFitness(pool);
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query("BEGIN");
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `tables ${schema}`,
    ]);
    await makeTables(client, schema);
    await client.query("COMMIT");
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    // A connection in a broken transaction is not used again.
    client.release(failure);
  }
}

async function checkFitness(pool: Pool): Promise<void> {
  const { rows } = await pool.query<Fitness>(`
    SELECT current_setting('server_version_num')::int AS version,
           current_setting('server_encoding') AS encoding,
           pg_is_in_recovery() AS standby`);
  const { version, encoding, standby } = rows[0]!;
  if (version < OLDEST_SERVER)
    throw wrong("The store's PostgreSQL is older than 13.", "Update the server.");
  if (encoding !== "UTF8")
    throw wrong(
      `The store's database has the encoding ${encoding}.`,
      "Create one with ENCODING 'UTF8'.",
    );
  if (standby) throw wrong("The store's PostgreSQL is a read-only standby.", "Name the primary.");
}

async function makeTables(client: ClientBase, schema: string): Promise<void> {
  const there = await client.query<{ there: boolean }>(
    "SELECT to_regclass($1) IS NOT NULL AS there",
    [`"${schema}".store_version`],
  );
  if (there.rows[0]!.there) return checkVersion(client, schema);
  // CREATE SCHEMA IF NOT EXISTS asks for the right to create one even where it exists.
  const { rowCount } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [
    schema,
  ]);
  if (rowCount === 0) await client.query(`CREATE SCHEMA "${schema}"`);
  await client.query(statements(`"${schema}"`));
}

async function checkVersion(client: ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query<{ version: number }>(
    `SELECT version FROM "${schema}".store_version`,
  );
  const version = rows[0]?.version ?? 0;
  if (version === VERSION) return;
  throw wrong(
    `The tables in the schema "${schema}" have version ${version}, made by a newer Propylon; this one knows version ${VERSION}.`,
    "Update this gateway, or name another schema in plugins.postgres.schema.",
  );
}

function statements(schema: string): string {
  return `
    CREATE TABLE ${schema}.store_version (version int NOT NULL);
    INSERT INTO ${schema}.store_version VALUES (${VERSION});
    CREATE SEQUENCE ${schema}.store_rev;
    CREATE SEQUENCE ${schema}.store_seq;
    CREATE TABLE ${schema}.store_kv (
      bucket text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      value text NOT NULL,
      rev bigint NOT NULL,
      until timestamptz,
      PRIMARY KEY (bucket, key)
    );
    CREATE INDEX store_kv_until ON ${schema}.store_kv (until) WHERE until IS NOT NULL;
    CREATE TABLE ${schema}.store_log (
      log text COLLATE "C" NOT NULL,
      seq bigint NOT NULL,
      value text NOT NULL,
      at timestamptz NOT NULL,
      PRIMARY KEY (log, seq)
    );`;
}

function wrong(message: string, hint: string): GatewayError {
  return new GatewayError("invalid", message, { hint });
}
