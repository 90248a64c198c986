import { InFlightSet, type Slotted } from "propylon/kit";

/** Something found by the id it was sent with. */
export interface Awaited extends Slotted {
  readonly id: string;
  /** The next one in the same bucket. Belongs to {@link Pending}. */
  below: Awaited | undefined;
}

/** Buckets, a power of two; with more requests in flight than that a look-up takes a few steps more. */
const BUCKETS = 1_024;

/** The requests in flight to one server, by id. Not a `Map`, for the reason that {@link InFlightSet} gives. */
export class Pending<T extends Awaited> {
  readonly #all = new InFlightSet<T>();
  readonly #buckets: (T | undefined)[] = Array.from({ length: BUCKETS });

  /** The one with this id. */
  get(id: string): T | undefined {
    let found = this.#buckets[bucketOf(id)];
    while (found && found.id !== id) found = found.below as T | undefined;
    return found;
  }

  /** Adds a request; its id is new. */
  add(request: T): void {
    const bucket = bucketOf(request.id);
    request.below = this.#buckets[bucket];
    this.#buckets[bucket] = request;
    this.#all.add(request);
  }

  /** Forgets a request; tells whether it was there. */
  delete(request: T): boolean {
    if (!this.#all.delete(request)) return false;
    const bucket = bucketOf(request.id);
    const first = this.#buckets[bucket]!;
    if (first === request) this.#buckets[bucket] = request.below as T | undefined;
    else neighbourAbove(first, request).below = request.below;
    request.below = undefined;
    return true;
  }

  /** All of them at this moment, in no order. */
  values(): Iterable<T> {
    return this.#all;
  }
}

function neighbourAbove(first: Awaited, request: Awaited): Awaited {
  let above = first;
  while (above.below && above.below !== request) above = above.below;
  return above;
}

/** Ids end in a counter in base 36: its last digits spread evenly. */
function bucketOf(id: string): number {
  const { length } = id;
  const low = id.charCodeAt(length - 1) + id.charCodeAt(length - 2) * 36;
  return (low + id.charCodeAt(length - 3) * 1_296) & (BUCKETS - 1);
}
