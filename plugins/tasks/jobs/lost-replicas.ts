import type { Store } from "propylon/store";

/** Tells when a replica is gone, so that one of the others looks after what it left. */
export class LostReplicas {
  readonly #store: Store;
  /** The replicas that were there when what others left was looked at last. */
  #before: ReadonlySet<string> | undefined;
  #isLooking = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Looks after what replicas left that are gone since, or for the first time. One replica does for all, the eldest: where none starts in
   * place of the dead one, nobody else would. Where `work` rejects, the next time does it again.
   *
   * @param work is given the replicas that are there
   */
  async look(work: (there: ReadonlySet<string>) => Promise<void>): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const { replica, shared } = this.#store;
      const ids = shared ? (await this.#store.replicas()).map(({ id }) => id) : [replica];
      const there = new Set(ids);
      const isAnyGone = !this.#before || [...this.#before].some((id) => !there.has(id));
      if (isAnyGone && ids[0] === replica) await work(there);
      this.#before = there;
    } finally {
      this.#isLooking = false;
    }
  }
}
