import type { ChannelEvent } from "./event.ts";

/** How much is kept for who comes back. */
export interface RingBounds {
  readonly events: number;
  readonly bytes: number;
}

/** The last events, oldest first, with numbers that follow each other. */
export class EventRing {
  readonly #events: ChannelEvent[] = [];
  #bytes = 0;
  #last = 0;

  /** Number of the last event; 0 = there was none. */
  get last(): number {
    return this.#last;
  }

  /** Keeps an event under the next number, and lets go of the oldest beyond the bounds. */
  add(make: (number: number) => ChannelEvent, bounds: RingBounds): ChannelEvent {
    const event = make(++this.#last);
    this.#events.push(event);
    this.#bytes += sizeOf(event);
    while (this.#events.length > bounds.events || this.#bytes > bounds.bytes)
      this.#bytes -= sizeOf(this.#events.shift()!);
    return event;
  }

  /** What came after a number; `undefined` when something of it is gone, or the number is still to come. */
  after(number: number): readonly ChannelEvent[] | undefined {
    const missing = this.#last - number;
    if (missing < 0 || missing > this.#events.length) return undefined;
    return this.#events.slice(this.#events.length - missing);
  }
}

function sizeOf(event: ChannelEvent): number {
  const { text, bytes } = event.frame("operator");
  return text.length + bytes.length;
}
