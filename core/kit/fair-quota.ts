/**
 * How much each principal has of what is bounded. At the bound the one with the most makes way, so that nobody can crowd out
 * others.
 *
 * @example
 * const shares = new FairQuota();
 * shares.add(principal.ref);
 * if (shares.of(principal.ref) > 100) throw new GatewayError("rate_limited", "Too many at once.");
 */
export class FairQuota {
  readonly #amounts = new Map<string, number>();

  /** Counts more, or less for an amount below zero: one more unless it is said. */
  add(principal: string, amount = 1): void {
    const now = this.of(principal) + amount;
    if (now > 0) this.#amounts.set(principal, now);
    else this.#amounts.delete(principal);
  }

  /** Counts less. */
  remove(principal: string, amount = 1): void {
    this.add(principal, -amount);
  }

  /** Tells of principals whether nobody would have more than they, once `newcomer` had one more. */
  largestWith(newcomer: string): (principal: string) => boolean {
    const withNew = (principal: string): number =>
      this.of(principal) + (principal === newcomer ? 1 : 0);
    let most = withNew(newcomer);
    for (const amount of this.#amounts.values()) most = Math.max(most, amount);
    return (principal) => withNew(principal) === most;
  }

  /** How much a principal has. */
  of(principal: string): number {
    return this.#amounts.get(principal) ?? 0;
  }
}
