import { GatewayError, isGatewayError } from "propylon";
import type { DatabaseConnection } from "kysely";

/** What an operator can do, by the SQLSTATE or the system's code. */
const HINTS: Readonly<Record<string, string>> = {
  "28P01": "Check user and password in the store's URL.",
  "28000": "Check the user in the store's URL, and pg_hba.conf of the server.",
  "3D000": "Create the database, or name another in the store's URL.",
  "42501":
    "Give the user the right to create the schema (GRANT CREATE ON DATABASE), or create it for that user.",
  "53300": "Raise max_connections of the server, or lower plugins.postgres.maxConnections.",
  ECONNREFUSED: "Check host and port in the store's URL, and that PostgreSQL runs.",
  ENOTFOUND: "Check the host in the store's URL.",
};

/** Why a store cannot be opened, as a sentence. */
export function refusal(error: unknown, name: string): GatewayError {
  if (isGatewayError(error)) return error;
  const { code = "", message } = error as { code?: string; message: string };
  const reason = message === "" ? code : message;
  return new GatewayError("io_error", `PostgreSQL at ${name} cannot be used: ${reason}.`, {
    cause: error,
    hint: HINTS[code] ?? "Check the store's URL, and that PostgreSQL runs.",
  });
}

/** A query that is interrupted, because the server or the way to it is gone, is told as any store that is away. */
export function tellAway(connection: DatabaseConnection): void {
  const execute = connection.executeQuery.bind(connection);
  connection.executeQuery = async (...query) => {
    try {
      return await execute(...query);
    } catch (cause) {
      if (!isBrokenOff(cause)) throw cause;
      throw new GatewayError("unavailable", "The gateway's database does not answer.", {
        cause,
        hint: "Try again in a few seconds; the operator finds the cause in the gateway's log.",
        headers: { "retry-after": "2" },
      });
    }
  };
}

/** By the SQLSTATE of what the server says (connection exceptions, and its own end), and by the words of the client for what it does not. */
function isBrokenOff(error: unknown): boolean {
  const {
    code = "",
    severity,
    message,
  } = error as {
    readonly code?: string;
    readonly severity?: string;
    readonly message: string;
  };
  if (severity !== undefined) return /^(?:08|57P0)/.test(code);
  return /^E[A-Z]+$/.test(code) || /connection|not queryable|read timeout/i.test(message);
}
