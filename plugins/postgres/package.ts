import { GatewayError } from "propylon";

/** The client of PostgreSQL. */
export type Pg = (typeof import("pg"))["default"];

/**
 * Imports the client when it is needed.
 * @throws {GatewayError} `invalid` when it is not installed
 */
export async function loadPg(): Promise<Pg> {
  try {
    return (await import("pg")).default;
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new GatewayError("invalid", "A store in PostgreSQL needs its client.", {
      hint: "Run: npm install pg",
      cause,
    });
  }
}
