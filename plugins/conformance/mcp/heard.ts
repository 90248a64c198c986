import { EventEmitter, once } from "node:events";

/** Something that reached a client beside the results of its calls. */
export interface Event {
  readonly kind: "progress" | "log" | "changed" | "updated" | "asked";
  /** The part that tells whose it is: a nonce, the name of a list, a URI. */
  readonly about: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Everything that a client heard, in order. */
export class Heard {
  readonly events: Event[] = [];
  readonly #emitter = new EventEmitter().setMaxListeners(0);

  note(kind: Event["kind"], about: unknown, params: object | undefined): void {
    this.events.push({ kind, about: String(about), params: { ...params } });
    this.#emitter.emit("event");
  }

  /** What of one kind was about, in order. */
  about(kind: Event["kind"]): readonly string[] {
    return this.events.filter((event) => event.kind === kind).map((event) => event.about);
  }

  /** Waits for an event that is there already or still to come. */
  async until(kind: Event["kind"], about: string): Promise<void> {
    while (!this.about(kind).includes(about)) await once(this.#emitter, "event");
  }
}
