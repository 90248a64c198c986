import type { ChannelEvent } from "./event.ts";

/** How much is kept for who comes back. */
export interface RingBounds {
  readonly events: number;
  readonly bytes: number;
}

interface KeptEvent {
  readonly seq: number;
  readonly event: ChannelEvent;
}

/** The last events, oldest first, by places that rise. */
export class EventRing {
  readonly #events: KeptEvent[] = [];
  #bytes = 0;
  #last = 0;
  /** Everything behind this place is kept. */
  #floor = 0;

  /** Place of the last event; 0 = there was none. */
  get last(): number {
    return this.#last;
  }

  /** Keeps an event, and lets go of the oldest beyond the bounds. */
  add(seq: number, event: ChannelEvent, bounds: RingBounds): void {
    this.#events.push({ seq, event });
    this.#bytes += sizeOf(event);
    this.#last = seq;
    while (this.#events.length > bounds.events || this.#bytes > bounds.bytes) {
      const oldest = this.#events.shift()!;
      this.#bytes -= sizeOf(oldest.event);
      this.#floor = oldest.seq;
    }
  }

  /** Forgets everything: nobody can go on from before this place. */
  restart(seq: number): void {
    this.#events.length = 0;
    this.#bytes = 0;
    this.#floor = seq;
  }

  /** What came after a place; `undefined` when something of it is gone, or the place is still to come. */
  after(seq: number): readonly ChannelEvent[] | undefined {
    if (seq > this.#last || seq < this.#floor) return undefined;
    const first = this.#events.findLastIndex((kept) => kept.seq <= seq) + 1;
    return this.#events.slice(first).map(({ event }) => event);
  }
}

function sizeOf(event: ChannelEvent): number {
  const { text, bytes } = event.frame("operator");
  return text.length + bytes.length;
}
