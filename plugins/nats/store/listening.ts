import { setTimeout } from "node:timers/promises";
import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import type { StoreRequest } from "../link/request.ts";

/** What is listened to, over however many connections. */
export interface Listener {
  readonly subject: string;
  readonly heard: (message: Msg) => void;
  /** Anything may have been missed. */
  readonly missed: () => void;
  /** What is stored under these subjects is told; what was told to nobody, because a server died over it, is found there. */
  readonly stored?: { readonly stream: string; readonly filter: string };
}

/** A listener with what it heard last. */
interface Active extends Listener {
  subscription: Subscription | undefined;
  /** Place in the stream up to which nothing was missed. */
  last: number;
}

/** What the server tells, it tells within so many milliseconds; later does no harm, but makes work. */
const SETTLE_MS = 250;
/** What the server says with a message that it has stored: its place. */
const SEQUENCE = "Nats-Sequence";

/** Listeners that outlive their connection. */
export class Listening {
  readonly #active = new Set<Active>();
  #connection: NatsConnection | undefined;

  /** There is a new connection. */
  adopt(connection: NatsConnection): void {
    this.#connection = connection;
    for (const listener of this.#active) this.#subscribe(listener);
  }

  /** Whatever was said meanwhile was not heard. */
  tellMissed(): void {
    for (const listener of this.#active) listener.missed();
  }

  /** @returns ends it; safe to call twice */
  async add(listener: Listener, request: StoreRequest): Promise<() => void> {
    const { stored } = listener;
    const active: Active = { ...listener, subscription: undefined, last: 0 };
    if (stored) active.last = await request.lastOf(stored.stream);
    const end = (): void => {
      if (this.#active.delete(active)) active.subscription?.unsubscribe();
    };
    this.#active.add(active);
    try {
      this.#subscribe(active);
      await request.flush();
      return end;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Finds what was stored and not told: a server that dies in between tells nobody. */
  async check(request: StoreRequest): Promise<void> {
    const missed = new Map<Active, number>();
    const ends = new Map<string, number>();
    for (const listener of this.#active) {
      const { stored } = listener;
      if (!stored) continue;
      const end = ends.get(stored.stream) ?? (await request.lastOf(stored.stream));
      ends.set(stored.stream, end);
      const found = await this.#untold(listener, stored, end, request);
      if (found !== undefined) missed.set(listener, found);
    }
    // What has just been stored is on its way.
    if (missed.size > 0) await setTimeout(SETTLE_MS);
    for (const [listener, seq] of missed) {
      if (listener.last >= seq) continue;
      listener.last = seq;
      if (this.#active.has(listener)) listener.missed();
    }
  }

  /** Place of the first message that was not heard of. */
  async #untold(
    listener: Active,
    { stream, filter }: NonNullable<Listener["stored"]>,
    end: number,
    request: StoreRequest,
  ): Promise<number | undefined> {
    const { last } = listener;
    if (end >= last) {
      const message = await request.find(stream, { seq: last + 1, next_by_subj: filter });
      if (!message) listener.last = Math.max(listener.last, end);
      return message?.seq;
    }
    // It heard of something newer, or the stream is a different one than before.
    const now = await request.lastOf(stream);
    if (now >= last) return undefined;
    listener.last = now;
    listener.missed();
    return undefined;
  }

  #subscribe(listener: Active): void {
    if (!this.#connection || this.#connection.isClosed()) return;
    listener.subscription = this.#connection.subscribe(listener.subject, {
      callback: (error, message) => {
        // A user of NATS that may not listen is told by the connection.
        if (error || !this.#active.has(listener)) return;
        if (listener.stored) note(listener, message);
        listener.heard(message);
      },
    });
  }
}

function note(listener: Active, { headers }: Msg): void {
  listener.last = Math.max(listener.last, Number(headers?.get(SEQUENCE)) || 0);
}
