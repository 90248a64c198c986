import type { Call } from "../types.ts";
import type { Exchange } from "./exchange.ts";
import type { Pending } from "./pending.ts";

/**
 * Whose a message of a server is that names no call (decision 0003): a call in flight of the only conversation; or that of
 * several `conversations` of one principal, or of several `principals`. `undefined` = nobody calls.
 */
export type Owner = Exchange | "conversations" | "principals" | undefined;

/**
 * The callers of one connection. A message that names no call may be about any call that the connection ever carried: an ended
 * one as well, since servers go on working behind an answer, a cancellation or a timeout. So it leaves only while all calls
 * were made by one principal.
 */
export class Owners {
  readonly #pending: Pending<Exchange>;
  #principal: string | null | undefined;

  constructor(pending: Pending<Exchange>) {
    this.#pending = pending;
  }

  /** Ref of the principal of all calls so far; `null` = of several, `undefined` = there was no call. */
  get principal(): string | null | undefined {
    return this.#principal;
  }

  /** A call goes out. */
  calling({ principal: { ref } }: Call): void {
    if (ref === this.#principal) return;
    this.#principal = this.#principal === undefined ? ref : null;
  }

  /** Whose a message is that comes now. */
  find(): Owner {
    return this.#principal === null ? "principals" : ownerOf(this.#pending.values());
  }
}

/** The one conversation of these calls, if it is one. */
export function ownerOf(exchanges: Iterable<Exchange>): Exchange | "conversations" | undefined {
  let owner: Exchange | undefined;
  for (const exchange of exchanges) {
    if (!exchange.call) continue;
    if (owner && owner.call!.peer.key !== exchange.call.peer.key) return "conversations";
    owner ??= exchange;
  }
  return owner;
}
