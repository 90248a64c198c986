/**
 * How many things each principal has of what an endpoint bounds. At the bound whoever has most makes way, so that nobody can
 * crowd out others.
 */
export class FairQuota {
  readonly #counts = new Map<string, number>();

  /** Counts one more. */
  add(principal: string): void {
    this.#counts.set(principal, this.of(principal) + 1);
  }

  /** Counts one less. */
  remove(principal: string): void {
    const left = this.of(principal) - 1;
    if (left > 0) this.#counts.set(principal, left);
    else this.#counts.delete(principal);
  }

  /** Tells of principals whether nobody would have more than they, once `newcomer` had one more. */
  largestWith(newcomer: string): (principal: string) => boolean {
    const withNew = (principal: string): number =>
      this.of(principal) + (principal === newcomer ? 1 : 0);
    let most = withNew(newcomer);
    for (const count of this.#counts.values()) most = Math.max(most, count);
    return (principal) => withNew(principal) === most;
  }

  /** How many a principal has. */
  of(principal: string): number {
    return this.#counts.get(principal) ?? 0;
  }
}
