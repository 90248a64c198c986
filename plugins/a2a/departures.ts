import type { Store } from "propylon/store";

/** Tells when a gateway of the store died, so that one of the others looks after what it left. */
export class Departures {
  readonly #store: Store;
  /** The gateways that were there last. */
  #living: ReadonlySet<string> | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Asked now and then. One gateway looks for all, the eldest: where no other starts in place of the dead one nobody else would.
   * @returns the gateways that are there, when this one is to look for what others left: one is gone, or it asks for the first time
   */
  async next(): Promise<ReadonlySet<string> | undefined> {
    const { replica, shared } = this.#store;
    const ids = shared ? (await this.#store.replicas()).map(({ id }) => id) : [replica];
    const before = this.#living;
    this.#living = new Set(ids);
    const isAnyGone = !before || [...before].some((id) => !this.#living!.has(id));
    return isAnyGone && ids[0] === replica ? this.#living : undefined;
  }
}
