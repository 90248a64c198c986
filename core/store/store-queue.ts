import { GatewayError } from "../kit/errors.ts";
import { wholeDelay } from "../kit/backoff.ts";
import type { StoreConnection } from "./connection.ts";
import type { QueueDelivery, QueuedItem, WorkQueue } from "./driver.ts";

/** Work that waits for a replica. */
export class StoreQueue implements WorkQueue {
  readonly #connection: StoreConnection;
  readonly #queue: WorkQueue;

  /** @throws {GatewayError} `invalid` where the store hands out no work */
  constructor(connection: StoreConnection, name: string) {
    const queue = connection.driver.queue?.(name);
    if (!queue)
      throw new GatewayError("invalid", "The gateway's store hands out no work.", {
        hint: "Set store: nats://... in the config.",
      });
    this.#connection = connection;
    this.#queue = queue;
  }

  add(item: QueuedItem, text: string): Promise<void> {
    return this.#connection.run(() => this.#queue.add(item, text));
  }

  async next(signal: AbortSignal): Promise<QueueDelivery | undefined> {
    const delivery = await this.#queue.next(signal);
    return (
      delivery && {
        text: delivery.text,
        keep: () => delivery.keep(),
        ack: () => delivery.ack(),
        giveBack: (delay) => delivery.giveBack(wholeDelay(delay)),
      }
    );
  }

  items(): Promise<readonly QueuedItem[]> {
    return this.#connection.run(() => this.#queue.items());
  }
}
