import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import type { Delivery } from "../transport.ts";
import { NatsDelivery } from "./delivery.ts";

/** How long the server holds a request for a task, in milliseconds. */
const EXPIRES_MS = 20_000;
/** Its word that nothing came takes this long at most. */
const LATE_MS = 2_000;

/** What a puller asks for, and of whom. */
export interface PullerOptions {
  readonly connection: NatsConnection;
  readonly stream: string;
  readonly consumer: string;
  readonly isConnected: () => boolean;
  /** The consumer is not there any more. */
  readonly onGone: () => void;
  readonly createInbox: () => string;
}

type Waiter = (delivery: Delivery | undefined) => void;

/**
 * Asks the consumer for one task at a time. Not the client's `next()`: what the server sends in the moment we stop listening would
 * be dropped there and come again only after `ackWait`. Here it is given back at once.
 */
export class Puller {
  readonly #options: PullerOptions;
  readonly #waiting = new Map<string, Waiter>();
  #inbox = "";
  #subscription: Subscription | undefined;
  #count = 0;

  constructor(options: PullerOptions) {
    this.#options = options;
  }

  /** Resolves with `undefined` when there is none for a while, or when the signal aborts. */
  next(signal: AbortSignal): Promise<Delivery | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    this.#subscription ??= this.#listen();
    const inbox = `${this.#inbox}.${++this.#count}`;
    return new Promise((resolve) => {
      const end: Waiter = (delivery) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        this.#waiting.delete(inbox);
        resolve(delivery);
      };
      const onAbort = (): void => {
        this.#leave();
        end(undefined);
      };
      const timer = setTimeout(end, EXPIRES_MS + LATE_MS, undefined);
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.set(inbox, end);
      this.#ask(inbox);
    });
  }

  /** The connection is down, and with it whatever the server was asked for. */
  interrupt(): void {
    for (const end of this.#waiting.values()) end(undefined);
  }

  #ask(inbox: string): void {
    const { connection, stream, consumer } = this.#options;
    const request = JSON.stringify({ batch: 1, expires: EXPIRES_MS * 1_000_000 });
    connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, request, {
      reply: inbox,
    });
  }

  #listen(): Subscription {
    this.#inbox = this.#options.createInbox();
    return this.#options.connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error) this.interrupt();
        else this.#take(message);
      },
    });
  }

  /** Says no more tasks: the server forgets what it was asked for, and what was under way already still arrives. */
  #leave(): void {
    const subscription = this.#subscription;
    this.#subscription = undefined;
    void subscription?.drain().catch(() => {});
  }

  #take(message: Msg): void {
    const end = this.#waiting.get(message.subject);
    if (message.reply?.startsWith("$JS.ACK.") !== true) {
      if (message.headers?.code === 503 || message.headers?.code === 409) this.#options.onGone();
      end?.(undefined);
      return;
    }
    const { connection, isConnected } = this.#options;
    const delivery = new NatsDelivery(message, connection, isConnected);
    const [first] = this.#waiting.values();
    if (first) first(delivery);
    else delivery.giveBack(0);
  }
}
