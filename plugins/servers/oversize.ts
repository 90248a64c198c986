import type { GatewayError } from "propylon";
import type { Exchange, Pending } from "./exchange.ts";
import { findId, findLastId, isNotice } from "./message.ts";

interface Owed {
  readonly candidates: Set<Exchange>;
  readonly error: GatewayError;
}

/**
 * Finds the request whose answer was too large to keep, by the id at the start of the message or, as most servers write it, at
 * its end. Where neither shows one, the answer is owed to one of the requests in flight: to the last one that gets none. Its
 * caller waits a little longer, but no other call dies of it.
 */
export class Oversize {
  readonly #pending: Pending<Exchange>;
  readonly #owed = new Set<Owed>();

  constructor(pending: Pending<Exchange>) {
    this.#pending = pending;
  }

  /** Takes the first and last bytes of a message above the limit. */
  note(head: Buffer, tail: Buffer, error: GatewayError): void {
    if (isNotice(head)) return;
    const id = findId(head) ?? findLastId(tail);
    if (id !== undefined) return this.#pending.get(id)?.fail(error);
    const owed: Owed = { candidates: new Set(this.#pending.values()), error };
    this.#owed.add(owed);
    this.#check(owed);
  }

  /** A request has its outcome. */
  release(exchange: Exchange): void {
    if (this.#owed.size === 0) return;
    for (const owed of this.#owed) if (owed.candidates.delete(exchange)) this.#check(owed);
  }

  #check(owed: Owed): void {
    if (owed.candidates.size > 1) return;
    this.#owed.delete(owed);
    for (const exchange of owed.candidates) exchange.fail(owed.error);
  }
}
