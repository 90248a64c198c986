import type { Logger } from "pino";

/**
 * What was thrown away of a server's messages: what is no JSON-RPC or answers nothing, and logs and questions of unknown owner. One per server,
 * so that it outlives connections.
 */
export class Dropped {
  messages = 0;
  logs = 0;
  questions = 0;
  readonly #server: string;
  readonly #log: Logger;
  readonly #told = new Set<string>();

  constructor(server: string, log: Logger) {
    this.#server = server;
    this.#log = log;
  }

  /** All of them. */
  get total(): number {
    return this.messages + this.logs + this.questions;
  }

  /** A message that is of no use, as happens: an answer that came too late, a line that is no message. */
  message(what: string): void {
    this.messages++;
    this.#log.debug({ server: this.#server, what }, "message from a server dropped");
  }

  /** A message that no server should send. The first of its kind is a warning: a hostile server must not fill the log. */
  fault(what: string, error?: unknown): void {
    this.messages++;
    const level = this.#told.has(what) ? "debug" : "warn";
    this.#told.add(what);
    this.#log[level]({ server: this.#server, what, err: error }, "message from a server dropped");
  }

  /** A question that does not say whose call it is about. */
  question(): void {
    if (this.questions++ > 0) return;
    this.#log.warn(
      { server: this.#server },
      "a question of a server was refused: several clients use it, and it did not say whose call it is about",
    );
  }
}
