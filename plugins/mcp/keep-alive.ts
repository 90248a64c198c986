import { InFlightSet, type Slotted } from "propylon/kit";

/** Comments on quiet streams: proxies and clients give up on a connection that says nothing for long. */
const PERIOD_MS = 15_000;

/** Something that wants a sign of life now and then. */
export interface KeptAlive extends Slotted {
  pulse(): void;
}

/** One timer for all streams of an endpoint; runs only while there are any and never keeps the process alive. */
export class KeepAlive {
  readonly #members = new InFlightSet<KeptAlive>();
  #timer: NodeJS.Timeout | undefined;

  add(member: KeptAlive): void {
    this.#members.add(member);
    this.#timer ??= setInterval(() => this.#beat(), PERIOD_MS).unref();
  }

  delete(member: KeptAlive): void {
    this.#members.delete(member);
  }

  #beat(): void {
    for (const member of this.#members) member.pulse();
    if (this.#members.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Stops the timer. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#members.clear();
  }
}
