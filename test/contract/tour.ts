import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const PROGRAM = fileURLToPath(new URL("tour.mjs", import.meta.url));

/** What `tour.mjs` prints. */
export interface Tour {
  /** Modules that a relayed call goes through. */
  readonly call: readonly string[];
  /** Modules that the reload of one plugin's option goes through. */
  readonly reload: readonly string[];
  /** Modules that a message of A2A goes through until its task has ended. */
  readonly message: readonly string[];
  /** Functions that a relayed call enters, in the order in which it first does, by where they begin in the sources. */
  readonly passed: readonly { readonly file: string; readonly line: number }[];
}

/** Relays a call, reloads an option and sends a message, with what was built. */
export async function tourOf(): Promise<Tour> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM]);
  return JSON.parse(stdout) as Tour;
}
