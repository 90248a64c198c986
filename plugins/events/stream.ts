import { ChannelEvent, type EventDetails, type Frame } from "./event.ts";
import { PASSING, type EventData, type StreamKind } from "./kinds.ts";
import { shows, type Subscription } from "./subscription.ts";

/** How long a slow reader has to take what is left when its stream ends. */
const LAST_WORDS_MS = 5_000;

/** One way out: server-sent events or a WebSocket. */
export interface Outlet {
  /** Bytes written and not sent yet. */
  readonly unsent: number;
  write(frame: Frame): void;
  /** Shows that the stream lives. */
  beat(): void;
  /** Ends it after what is unsent. */
  end(overflow: boolean): void;
  /** Ends it now. */
  cut(): void;
}

/** One reader of the channel. Never waits: who does not keep up loses progress and log lines first, then the stream. */
export class Stream {
  subscription: Subscription;
  /** Place of the last event that its reader knows from another replica, which this one is behind; 0: it is not. */
  known = 0;
  readonly #outlet: Outlet;
  readonly #limit: number;
  /** Left out since the last `gap`. */
  #missed = 0;
  #ended = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param limit most bytes that may wait */
  constructor(outlet: Outlet, subscription: Subscription, limit: number) {
    this.#outlet = outlet;
    this.subscription = subscription;
    this.#limit = limit;
  }

  /** Shows an event that the subscription wants. */
  push(event: ChannelEvent): void {
    if (this.#ended || !shows(this.subscription, event)) return;
    if (event.seq !== undefined && event.seq <= this.known) return;
    this.#tellMissed();
    const frame = event.frame(this.subscription.audience);
    const { unsent } = this.#outlet;
    const after = unsent + frame.bytes.length;
    if (PASSING.has(event.kind) && after > this.#limit / 2) this.#missed++;
    else if (unsent > 0 && after > this.#limit) this.#overflow(unsent);
    else this.#outlet.write(frame);
  }

  /** Says something about the stream itself. */
  tell<K extends StreamKind>(kind: K, data: EventData[K], details?: EventDetails): void {
    if (this.#ended) return;
    this.#outlet.write(new ChannelEvent(kind, data, details).frame(this.subscription.audience));
  }

  /** Shows that the stream lives, unless something that waits will. */
  beat(): void {
    if (this.#ended) return;
    this.#tellMissed();
    if (this.#outlet.unsent === 0) this.#outlet.beat();
  }

  /** Ends the stream with a last event. */
  close(reason: EventData["closing"]["reason"]): void {
    this.tell("closing", { reason });
    this.#end(false);
  }

  /** Its reader is gone. */
  drop(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  /** Only once there is room again, else every second line at the edge would be a gap. */
  #tellMissed(): void {
    if (this.#missed === 0 || this.#outlet.unsent > this.#limit / 4) return;
    this.tell("gap", { reason: "slow", missed: this.#missed });
    this.#missed = 0;
  }

  #overflow(unsent: number): void {
    this.tell("overflow", { unsent });
    this.#end(true);
  }

  #end(overflow: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#outlet.end(overflow);
    this.#timer = setTimeout(() => this.#outlet.cut(), LAST_WORDS_MS).unref();
  }
}
