import { GatewayError, isGatewayError } from "propylon";

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
