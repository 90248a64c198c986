import type { ClientBase, PoolConfig } from "pg";
import type { DatabaseAddress } from "./address.ts";

/** Limit of a statement of the store, in milliseconds; the server's own. */
const STATEMENT_MS = 5_000;
/** Of a statement of a plugin's relational data, which may be a migration. */
const RELATIONAL_MS = 60_000;
/** How long a connection, or an answer of the store, is waited for. */
const WAIT_MS = 4_500;

/**
 * What every connection begins with. Here and not in the start-up message, of which poolers refuse most. A server that is told to
 * forget what it confirmed (`synchronous_commit`) must not, and one that is told to fail at every conflict cannot compare and set.
 */
const begin = (statement: number, more = ""): string => `
  SET statement_timeout = ${statement};
  SET idle_in_transaction_session_timeout = ${statement};
  SET default_transaction_isolation = 'read committed';
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
  ${more}`;

/** Of the connections for the store's own statements. */
export function poolOptions({ config }: DatabaseAddress, maxConnections: number): PoolConfig {
  return {
    ...config,
    max: maxConnections,
    application_name: "propylon",
    connectionTimeoutMillis: WAIT_MS,
    query_timeout: WAIT_MS,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    onConnect: beginWith(begin(STATEMENT_MS)),
  };
}

/** Of the connections for relational data; their tables are in the schema without a word. */
export function relationalOptions(
  address: DatabaseAddress,
  maxConnections: number,
  schema: string,
): PoolConfig {
  const options = begin(RELATIONAL_MS, `SET search_path = "${schema}";`);
  return {
    ...poolOptions(address, maxConnections),
    query_timeout: RELATIONAL_MS,
    onConnect: beginWith(options),
  };
}

/** The pool waits for it, which its type does not say. */
function beginWith(statements: string): (client: ClientBase) => void {
  return ((client: ClientBase) => client.query(statements)) as (client: ClientBase) => void;
}
