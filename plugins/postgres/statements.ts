/** The statements of a store, each prepared once per connection under its name. */
export type Statements = Readonly<
  Record<keyof ReturnType<typeof createStatements>, StoreStatement>
>;

/** A statement as `pg` takes it. */
export interface StoreStatement {
  readonly name: string;
  readonly text: string;
}

const LIVE = "(until IS NULL OR until > clock_timestamp())";

/**
 * A lock for the rest of the statement, taken before numbers are drawn: so the revisions of one key, and the places of one log, rise
 * in the order in which they can be seen.
 */
const locked = (what: string): string =>
  `locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended(${what}, 0)))`;

const KEY = locked("'kv ' || $1 || ' ' || $2");

/** A change and its notice are one transaction. */
const told = (what: string): string => `SELECT ${what}, pg_notify($3, $4) FROM written`;

/**
 * Time is the database's alone: gateways say how long something stays, not until when.
 *
 * @param schema quoted
 */
export function createStatements(schema: string) {
  const kv = `${schema}.store_kv`;
  const log = `${schema}.store_log`;
  const until = "clock_timestamp() + $6 * interval '1 ms'";
  const insert = `INSERT INTO ${kv} AS there (bucket, key, value, rev, until)
    SELECT $1, $2, $5, nextval('${schema}.store_rev'), ${until} FROM locked
    ON CONFLICT (bucket, key) DO UPDATE SET value = excluded.value, rev = excluded.rev, until = excluded.until`;
  const texts = {
    get: `SELECT value, rev FROM ${kv} WHERE bucket = $1 AND key = $2 AND ${LIVE}`,
    put: `WITH ${KEY}, written AS (${insert} RETURNING rev) ${told("rev")}`,
    create: `WITH ${KEY}, written AS (
      ${insert} WHERE there.until <= clock_timestamp() RETURNING rev) ${told("rev")}`,
    update: `WITH ${KEY}, written AS (
      UPDATE ${kv} SET value = $5, rev = nextval('${schema}.store_rev'), until = ${until} FROM locked
      WHERE bucket = $1 AND key = $2 AND rev = $7 AND ${LIVE} RETURNING rev) ${told("rev")}`,
    delete: `WITH ${KEY}, written AS (
      DELETE FROM ${kv} USING locked
      WHERE bucket = $1 AND key = $2 AND ($5::bigint IS NULL OR rev = $5) AND ${LIVE} RETURNING rev) ${told("rev")}`,
    list: `SELECT key, value, rev FROM ${kv}
      WHERE bucket = $1 AND key > $2 AND key >= $3 AND key < $4 AND ${LIVE} ORDER BY key LIMIT $5`,
    sweep: `WITH ended AS (
        SELECT bucket, key FROM ${kv} WHERE until <= clock_timestamp() LIMIT $2 FOR UPDATE SKIP LOCKED
      ), written AS (
        DELETE FROM ${kv} AS there USING ended
        WHERE there.bucket = ended.bucket AND there.key = ended.key AND there.until <= clock_timestamp()
        RETURNING there.bucket, there.key
      ) SELECT pg_notify($1, 'kv ' || bucket || ' ' || key) FROM written`,
    append: `WITH ${locked("'log ' || $1")}, written AS (
        INSERT INTO ${log} (log, seq, value, at)
        SELECT $1, nextval('${schema}.store_seq'), value, clock_timestamp()
        FROM (SELECT value FROM locked, unnest($2::text[]) WITH ORDINALITY AS each (value, place) ORDER BY place) AS added
        RETURNING seq
      ), last AS (SELECT max(seq) AS seq FROM written) SELECT seq, pg_notify($3, $4) FROM last`,
    read: `SELECT seq, value, floor(extract(epoch FROM at) * 1000) AS at FROM ${log}
      WHERE log = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
    trim: `DELETE FROM ${log} WHERE log = $1 AND seq = ANY (ARRAY(
        SELECT seq FROM ${log} WHERE log = $1 AND seq < greatest(
          (SELECT seq + 1 FROM ${log} WHERE log = $1 ORDER BY seq DESC OFFSET $2 LIMIT 1),
          CASE WHEN $3::float8 IS NOT NULL THEN coalesce(
            (SELECT seq FROM ${log} WHERE log = $1 AND at >= clock_timestamp() - $3 * interval '1 ms' ORDER BY seq LIMIT 1),
            9223372036854775807) END
        ) ORDER BY seq LIMIT $4))`,
    publish: `SELECT pg_notify($1, piece)
      FROM unnest($2::text[]) WITH ORDINALITY AS each (piece, place) ORDER BY place`,
  };
  const named = Object.entries(texts).map(([name, text]) => [
    name,
    { name: `store_${name}`, text },
  ]);
  return Object.fromEntries(named) as Record<keyof typeof texts, StoreStatement>;
}
