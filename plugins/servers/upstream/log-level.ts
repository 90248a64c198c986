import type { Logger } from "pino";
import type { Connection } from "../connection/connection.ts";
import { WantedLevels } from "./wanted-levels.ts";

/** How long a server may take for a request that only sets something, in milliseconds. */
const SETTING_MS = 5_000;

/** The least severe log level that anybody wants of a server, which servers of the old era have to be told. */
export class LogLevel {
  readonly #server: string;
  readonly #log: Logger;
  readonly #wanted = new WantedLevels();

  constructor(server: string, log: Logger) {
    this.#server = server;
    this.#log = log;
  }

  /** Notes what an asker wants; `undefined` is nothing any more. Tells whether the server has to learn of it. */
  set(level: string | undefined, asker: object): boolean {
    return this.#wanted.set(level, asker);
  }

  /** Never rejects. */
  async send(connection: Connection): Promise<void> {
    const { era, capabilities } = connection.handshake!;
    const level = this.#wanted.least;
    if (level === undefined || era !== "legacy" || !("logging" in capabilities)) return;
    const outcome = connection.request("logging/setLevel", { level }, { timeout: SETTING_MS });
    await outcome.catch((error: unknown) =>
      this.#log.debug({ err: error, server: this.#server }, "log level not set"),
    );
  }
}
