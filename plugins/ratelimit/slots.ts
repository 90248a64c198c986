/** Somebody who waits for a slot. */
export interface Waiter {
  /** Whose turn counts: principals take turns. */
  readonly principal: string;
  /** The slot is yours. */
  admit(): void;
  /** You were taken out of the queue in favour of somebody who has fewer calls in it. */
  displace(): void;
  /** There will be no slot any more. */
  close(): void;
}

/** Calls that run at the same time, up to a bound, and a bounded queue in which principals take turns. */
export class Slots {
  active = 0;
  waiting = 0;
  #max: number;
  readonly #places: number;
  /** Waiting calls by principal; the order of the map is that of the turns. */
  readonly #queues = new Map<string, Waiter[]>();

  constructor(max: number, places: number) {
    this.#max = max;
    this.#places = places;
  }

  get isIdle(): boolean {
    return this.active === 0 && this.waiting === 0;
  }

  get max(): number {
    return this.#max;
  }

  /** Changes the bound: those who wait get what is new; what runs above it goes on, and nobody follows. */
  resize(max: number): void {
    this.#max = max;
    while (this.active < max && this.waiting > 0) {
      this.active++;
      this.release();
    }
  }

  /** Takes a slot if one is free and nobody waits for it. */
  take(): boolean {
    if (this.active >= this.#max || this.waiting > 0) return false;
    this.active++;
    return true;
  }

  /** Joins the queue; whether there was a place. */
  join(waiter: Waiter): boolean {
    const { principal } = waiter;
    if (this.waiting >= this.#places && !this.#displace(principal)) return false;
    const queue = this.#queues.get(principal);
    if (queue) queue.push(waiter);
    else this.#queues.set(principal, [waiter]);
    this.waiting++;
    return true;
  }

  /** Gives up waiting. */
  leave(waiter: Waiter): void {
    const queue = this.#queues.get(waiter.principal);
    const at = queue?.indexOf(waiter) ?? -1;
    if (at < 0) return;
    queue!.splice(at, 1);
    this.waiting--;
    if (queue!.length === 0) this.#queues.delete(waiter.principal);
  }

  /** Gives a slot back: to the first call of the principal whose turn it is. */
  release(): void {
    const [turn] = this.#queues;
    if (!turn || this.active > this.#max) return void this.active--;
    const [principal, queue] = turn;
    const waiter = queue.shift()!;
    this.waiting--;
    this.#queues.delete(principal);
    if (queue.length > 0) this.#queues.set(principal, queue);
    waiter.admit();
  }

  /** Everybody who waits. */
  waiters(): Waiter[] {
    return [...this.#queues.values()].flat();
  }

  /** Frees a place for a principal by taking it from the one who has most, if that has more; else one could fill the queue. */
  #displace(principal: string): boolean {
    let longest: Waiter[] = [];
    for (const queue of this.#queues.values()) if (queue.length > longest.length) longest = queue;
    if (longest.length <= (this.#queues.get(principal)?.length ?? 0) + 1) return false;
    const last = longest.at(-1)!;
    this.leave(last);
    last.displace();
    return true;
  }
}
