import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import { type Delivery, type Line, NatsDelivery } from "./delivery.ts";

/**
 * How long the server holds a request for a task, in milliseconds. A server 2.9 that was killed counts tasks as unacked that are gone;
 * each of them holds the next task back until the server is asked again, so that with 20 s a queue stood still for a minute.
 */
const EXPIRES_MS = 5_000;
/** Its word that nothing came takes this long at most. */
const LATE_MS = 5_000;
/** Pause after a request that was refused, in milliseconds: the next would be, too. */
const REFUSED_MS = 1_000;

/**
 * What a puller asks for, and of whom.
 *
 * @example const options: PullerOptions = { connection, line, stream: "TASKS", consumer: "coder", onRefusal, createInbox };
 */
export interface PullerOptions {
  readonly connection: NatsConnection;
  readonly line: Line;
  readonly stream: string;
  readonly consumer: string;
  /** The server refuses to be asked, in its words. */
  readonly onRefusal: (words: string) => void;
  readonly createInbox: () => string;
}

type Waiter = (delivery: Delivery | undefined) => void;

/**
 * Asks the consumer for one task at a time. Not the client's `next()`: what the server sends in the moment we stop listening would
 * be dropped there and come again only after `ackWait`. Here it is given back at once.
 *
 * @example const delivery = await new Puller(options).next(signal);
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
      // Newer servers say that a consumer is gone, 2.9 is silent.
      const onSilence = (): void => {
        this.#options.line.onGone();
        end(undefined);
      };
      const timer = setTimeout(onSilence, EXPIRES_MS + LATE_MS);
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.set(inbox, end);
      try {
        this.#ask(inbox);
      } catch {
        // The connection was closed a moment ago.
        setTimeout(end, REFUSED_MS, undefined);
      }
    });
  }

  /** What the server was asked for is forgotten, or not wanted any more. */
  interrupt(): void {
    this.#leave();
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
        // Not allowed to listen: said by the link.
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
    const [first] = this.#waiting.values();
    if (message.reply?.startsWith("$JS.ACK.") !== true) {
      // A task goes to the one that waits longest, so what was asked for may be another's by now.
      this.#end(message, this.#waiting.get(message.subject) ?? first);
      return;
    }
    const delivery = new NatsDelivery(message, this.#options.line);
    if (first) first(delivery);
    else delivery.giveBack(0);
  }

  /** A status in the place of a task: nothing came (404, 408), the consumer is gone, or it takes no more requests. */
  #end({ headers }: Msg, end: Waiter | undefined): void {
    const { code = 0, description = "" } = headers ?? {};
    if (code === 404 || code === 408) return end?.(undefined);
    this.#options.line.onGone();
    if (code !== 503 && !/deleted|changed|shutdown/i.test(description))
      this.#options.onRefusal(description);
    setTimeout(() => end?.(undefined), REFUSED_MS);
  }
}
