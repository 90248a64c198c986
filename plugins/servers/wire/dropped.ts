import type { Logger } from "pino";

/** Characters of a text that are logged. */
const SHOWN = 200;

/**
 * What was thrown away of a server's messages: what is not JSON-RPC or answers nothing, and logs and questions of unknown owner.
 * One per server, so that it outlives connections.
 */
export class Dropped {
  messages = 0;
  logs = 0;
  questions = 0;
  readonly #server: string;
  readonly #log: Logger;
  readonly #mask: (text: string) => string;
  readonly #told = new Set<string>();

  /** @param mask hides the server's secrets in what it wrote */
  constructor(server: string, log: Logger, mask: (text: string) => string) {
    this.#server = server;
    this.#log = log;
    this.#mask = mask;
  }

  /** All of them. */
  get total(): number {
    return this.messages + this.logs + this.questions;
  }

  /** A message that is of no use, as happens: an answer that came too late, a line that is not a message. */
  message(what: string): void {
    this.messages++;
    this.#log.debug({ server: this.#server, what }, "message from a server dropped");
  }

  /** A message that no server should send. */
  fault(what: string, error?: unknown): void {
    this.messages++;
    this.#log[this.#levelOf(what)](
      { server: this.#server, what, err: error },
      "message from a server dropped",
    );
  }

  /** Text that is not a message: a banner, or what a library prints. */
  text(what: string, text: string): void {
    this.messages++;
    const level = this.#levelOf(what);
    if (!this.#log.isLevelEnabled(level)) return;
    const shown = this.#mask(text).slice(0, SHOWN);
    this.#log[level]({ server: this.#server, what, text: shown }, "text from a server dropped");
  }

  /** The first of its kind is a warning: a hostile server must not fill the log. */
  #levelOf(what: string): "debug" | "warn" {
    if (this.#told.has(what)) return "debug";
    this.#told.add(what);
    return "warn";
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
