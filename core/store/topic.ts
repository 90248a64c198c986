import type { Unsubscribe } from "./driver.ts";
import type { StoreConnection } from "./connection.ts";
import { encodeMessage } from "./store-key.ts";
import type { Topic } from "./store.ts";

interface Envelope<T> {
  readonly from: string;
  readonly message: T;
}

/** Messages to every gateway of a store. */
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
    return this.#connection.run((driver) =>
      driver.subscribe(this.#topic, (text) => {
        const { message, from } = JSON.parse(text) as Envelope<T>;
        listener(message, from);
      }),
    );
  }
}
