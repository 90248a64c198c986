import type { Call } from "propylon";
import type { Exchange, Pending } from "./exchange.ts";

/**
 * Whose a message of a server is that names no call (decision 0003): a call in flight of the only conversation; or that of
 * several `conversations` of one principal, or of several `principals`. `undefined` = nobody calls.
 */
export type Owner = Exchange | "conversations" | "principals" | undefined;

/** The server at the other end. */
export interface Asker {
  /** Whether it has requests of its own. */
  canAsk(): boolean;
  /** Calls back when its answer comes, before anything behind that is read; or when none comes. */
  ping(done: (hasHeard: boolean) => void): void;
}

/** Calls that were given up and that are remembered; at this number nothing is told apart. */
const MAX_LEFT = 1_000;

/**
 * The callers of one connection. A message that names no call may be about any call that the connection ever carried: an ended
 * one as well, since servers go on working behind an answer, a cancellation or a timeout. So it leaves only while all calls
 * were made by one principal.
 */
export class Owners {
  readonly #pending: Pending<Exchange>;
  readonly #server: Asker;
  /** Conversations of calls that were given up, by id: the server may be at work on them, and ask. */
  #left = new Map<string, string>();
  /** Those among them of which the server is being asked whether it has heard. */
  #checked = new Map<string, string>();
  #principal: string | null | undefined;

  constructor(pending: Pending<Exchange>, server: Asker) {
    this.#pending = pending;
    this.#server = server;
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

  /** A call has its end. */
  release({ id, call, answered }: Exchange): void {
    if (!call || answered || !this.#server.canAsk()) return;
    this.#remember(id, call.peer.key);
    this.#check();
  }

  /** An answer to no call in flight; perhaps to one that was given up. */
  late(id: unknown): void {
    for (const calls of [this.#left, this.#checked])
      if (calls.size < MAX_LEFT) calls.delete(id as string);
  }

  /**
   * Finds out that the server has heard which calls were given up. Its answer to a ping comes behind what it asked before, and
   * a call that it knows to be given up asks nothing more.
   */
  #check(): void {
    if (this.#checked.size > 0 || this.#left.size === 0) return;
    [this.#left, this.#checked] = [this.#checked, this.#left];
    this.#server.ping((hasHeard) => {
      const unheard = hasHeard ? [] : [...this.#checked];
      this.#checked.clear();
      for (const [id, conversation] of unheard) this.#remember(id, conversation);
      if (hasHeard) this.#check();
    });
  }

  #remember(id: string, conversation: string): void {
    if (this.#left.size < MAX_LEFT) this.#left.set(id, conversation);
  }

  /** Whose a message is that comes now. */
  find(): Owner {
    return this.#principal === null ? "principals" : this.among(this.#pending.values());
  }

  /** Whose a message is that came while these calls were in flight. */
  among(inFlight: Iterable<Exchange>): Exchange | "conversations" | undefined {
    const owner = ownerOf(inFlight);
    return typeof owner === "object" && !this.#isOnly(owner.call!.peer.key)
      ? "conversations"
      : owner;
  }

  #isOnly(conversation: string): boolean {
    return [this.#left, this.#checked].every(
      (calls) =>
        calls.size < MAX_LEFT && [...calls.values()].every((each) => each === conversation),
    );
  }
}

/** The one conversation of these calls, if it is one. */
function ownerOf(exchanges: Iterable<Exchange>): Exchange | "conversations" | undefined {
  let owner: Exchange | undefined;
  for (const exchange of exchanges) {
    if (!exchange.call) continue;
    if (owner && owner.call!.peer.key !== exchange.call.peer.key) return "conversations";
    owner ??= exchange;
  }
  return owner;
}
