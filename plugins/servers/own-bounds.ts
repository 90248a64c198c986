import { FairQuota } from "propylon/kit";

/** Most connections of principals to all servers of the process together. */
const MAX_IN_ALL = { children: 256, others: 4_096 };

const open = { children: 0, others: 0 };

/** A connection of a principal, as far as its place is concerned. */
export interface Placed {
  readonly ref: string;
  readonly usedAt: number;
  readonly isIdle: boolean;
}

/** How many there may be. */
export interface OwnBoundsOptions {
  readonly kind: keyof typeof MAX_IN_ALL;
  readonly max: number;
  /** Of one principal. */
  readonly maxOfOne: number;
  /** Whether a server remembers something for a connection, so that nobody's makes way for one who has more. */
  readonly isKept: boolean;
}

/** The bounds of the connections of principals to one server, and to all. */
export class OwnBounds<T extends Placed> {
  readonly #options: OwnBoundsOptions;
  readonly #all = new Set<T>();
  readonly #shares = new FairQuota();

  constructor(options: OwnBoundsOptions) {
    this.#options = options;
  }

  /** Whether one more is within the bounds. */
  hasRoom(ref: string): boolean {
    const { kind, max, maxOfOne } = this.#options;
    if (this.#all.size >= max || this.#shares.of(ref) >= maxOfOne) return false;
    return open[kind] < MAX_IN_ALL[kind];
  }

  /** One that may end for a newcomer: idle, of the one with the most, the longest idle. */
  victim(ref: string): T | undefined {
    const { maxOfOne, isKept } = this.#options;
    const idle = [...this.#all]
      .filter(({ isIdle }) => isIdle)
      .toSorted((a, b) => a.usedAt - b.usedAt);
    if (this.#shares.of(ref) >= maxOfOne) return idle.find((each) => each.ref === ref);
    const isLargest = this.#shares.largestWith(ref);
    return idle.find((each) => isLargest(each.ref)) ?? (isKept ? undefined : idle[0]);
  }

  /** One is being opened. The function that it returns says that it is gone: its child has ended. */
  take(each: T): () => void {
    const { kind } = this.#options;
    this.#all.add(each);
    this.#shares.add(each.ref);
    open[kind]++;
    let isTaken = true;
    return () => {
      if (isTaken) open[kind]--;
      isTaken = false;
    };
  }

  /** One takes no more calls. */
  leave(each: T): void {
    if (this.#all.delete(each)) this.#shares.remove(each.ref);
  }
}
