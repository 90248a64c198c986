import { GatewayError } from "../kit/errors.ts";
import { type Message, SILENCE_MS } from "./ask-message.ts";

/** What of an answer may wait for a slow reader, in UTF-16 code units. */
const MAX_WAITING = 4_000_000;

/** Messages in order, for one reader. */
export class Inbox {
  readonly #messages: Message[] = [];
  #size = 0;
  #wake = (): void => {};
  #end: GatewayError | undefined;

  /** Nothing more comes. */
  close(reason: GatewayError): void {
    this.#end = reason;
    this.#wake();
  }

  push(message: Message): void {
    // A sign of life for nobody who waits.
    if ("beat" in message && this.#messages.length > 0) return;
    this.#size += sizeOf(message);
    if (this.#isTooMuch) this.#messages.length = 0;
    else this.#messages.push(message);
    this.#wake();
  }

  /** @throws {GatewayError} why nothing more comes; `unavailable` after a long silence, and when too much waits to be read; the signal's reason */
  async next(signal: AbortSignal): Promise<Message> {
    if (this.#messages.length === 0 && !this.#end) await this.#wait(signal);
    signal.throwIfAborted();
    if (this.#isTooMuch) throw gone("The answer came faster than it was read.");
    const message = this.#messages.shift();
    if (message) {
      this.#size -= sizeOf(message);
      return message;
    }
    throw this.#end ?? gone();
  }

  get #isTooMuch(): boolean {
    return this.#size > MAX_WAITING;
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, SILENCE_MS);
      signal.addEventListener("abort", end, { once: true });
      this.#wake = end;
    });
  }
}

function sizeOf(message: Message): number {
  return "part" in message ? message.part.length : 0;
}

/** @param message what is wrong, if it is not that the replica that was asked is gone */
export function gone(message = "The replica that was asked is gone."): GatewayError {
  return new GatewayError("unavailable", message, { hint: "Make the request again." });
}
