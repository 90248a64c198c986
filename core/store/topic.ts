import { parseExact } from "../kit/exact-json.ts";
import { isObject } from "../kit/json.ts";
import type { Unsubscribe } from "./driver.ts";
import type { StoreConnection } from "./connection.ts";
import { encodeMessage } from "./store-key.ts";
import type { Topic } from "./store.ts";

interface Envelope<T> {
  readonly from: string;
  readonly message: T;
}

/** Messages to every replica of a store. */
export class StoreTopic<T> implements Topic<T> {
  readonly #connection: StoreConnection;
  readonly #topic: string;

  constructor(connection: StoreConnection, topic: string) {
    this.#connection = connection;
    this.#topic = topic;
  }

  async publish(message: T): Promise<void> {
    const text = encodeMessage({ from: this.#connection.replica, message });
    await this.#connection.run((driver) => driver.publish(this.#topic, text));
  }

  subscribe(listener: (message: T, from: string) => void): Promise<Unsubscribe> {
    const hear = this.#connection.guard(listener);
    return this.#connection.run((driver) =>
      driver.subscribe(this.#topic, (text) => {
        const envelope = readEnvelope<T>(text);
        if (envelope) hear(envelope.message, envelope.from);
      }),
    );
  }
}

/** Nothing for what no gateway wrote: a client that may write to the store may say anything there. */
function readEnvelope<T>(text: string): Envelope<T> | undefined {
  try {
    const envelope: unknown = parseExact(text);
    return isObject(envelope) && typeof envelope["from"] === "string"
      ? (envelope as unknown as Envelope<T>)
      : undefined;
  } catch {
    return undefined;
  }
}
