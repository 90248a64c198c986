import { GatewayError } from "../kit/errors.ts";
import { setTimer } from "../kit/timers.ts";
import type { Principal } from "../kit/types.ts";
import { wasMadeBefore, stampNow } from "../kit/principal.ts";

/** A request that began with a credential may still be on its way so long after the credential is gone, in milliseconds. */
const STRAGGLER_MS = 300_000;

/** Something that stays open on a credential. */
interface Lease {
  readonly principal: Principal;
  readonly end: (reason: string) => void;
  timer: NodeJS.Timeout | undefined;
}

/** Principals whose credentials were withdrawn. */
interface Withdrawal {
  readonly match: (principal: Principal) => boolean;
  /** Principals made later have a credential of their own. */
  readonly stamp: number;
  readonly until: number;
}

/**
 * What somebody is told whose credential was withdrawn.
 *
 * @example if (host.leases.isWithdrawn(principal)) throw new GatewayError("unauthorized", WITHDRAWN);
 */
export const WITHDRAWN = "The credential is no longer valid.";
const EXPIRED = "The token has expired.";

/**
 * Streams and sockets by the credential that opened them: none outlives it.
 *
 * @example const release = host.leases.open(principal, (reason) => stream.end(reason));
 */
export class Leases {
  readonly #open = new Set<Lease>();
  #withdrawn: readonly Withdrawal[] = [];

  /**
   * Counts something as open on a credential, until the returned function is called.
   * @param end called once when the credential is gone, with the reason for the client
   */
  open(principal: Principal, end: (reason: string) => void): () => void {
    const lease: Lease = { principal, end, timer: undefined };
    this.#open.add(lease);
    // A request that came before its credential was withdrawn may open something after.
    if (this.isWithdrawn(principal)) setImmediate(() => this.#end(lease, WITHDRAWN));
    if (principal.expiresAt !== undefined) this.#expire(lease, principal.expiresAt);
    return () => this.#release(lease);
  }

  /** Ends what matching principals have open; tells how many that were. */
  evict(match: (principal: Principal) => boolean, reason: string): number {
    const ending = [...this.#open].filter(({ principal }) => match(principal));
    for (const lease of ending) this.#end(lease, reason);
    return ending.length;
  }

  /**
   * Remembers that credentials are gone: a request that came before, with a slow body, begins nothing afterwards. Who withdraws
   * often gives one function, which is remembered once.
   */
  withdraw(match: (principal: Principal) => boolean): void {
    const until = performance.now() + STRAGGLER_MS;
    const others = this.#current().filter((each) => each.match !== match);
    this.#withdrawn = [...others, { match, stamp: stampNow(), until }];
  }

  /** Whether a principal's credential was withdrawn since its request came. */
  isWithdrawn(principal: Principal): boolean {
    if (this.#withdrawn.length === 0) return false;
    this.#withdrawn = this.#current();
    return this.#withdrawn.some(
      ({ match, stamp }) => wasMadeBefore(principal, stamp) && match(principal),
    );
  }

  /**
   * Refuses who came with a credential that is withdrawn since.
   *
   * @throws {GatewayError} `unauthorized`
   */
  refuseWithdrawn(principal: Principal): void {
    if (this.isWithdrawn(principal)) throw new GatewayError("unauthorized", WITHDRAWN);
  }

  #current(): readonly Withdrawal[] {
    return this.#withdrawn.filter(({ until }) => performance.now() < until);
  }

  #expire(lease: Lease, at: number): void {
    const left = at - Date.now();
    lease.timer = setTimer(
      () => (Date.now() < at ? this.#expire(lease, at) : this.#end(lease, EXPIRED)),
      Math.max(left, 0),
    ).unref();
  }

  #end(lease: Lease, reason: string): void {
    if (this.#release(lease)) lease.end(reason);
  }

  #release(lease: Lease): boolean {
    clearTimeout(lease.timer);
    return this.#open.delete(lease);
  }
}
