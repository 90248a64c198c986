import { toGatewayError } from "../kit/errors.ts";
import type { WorkerStatus } from "../plugin/description.ts";
import type { ReloadReport } from "../plugin/hooks.ts";
import type { ProcessMetrics } from "../gateway/metrics.ts";
import type { Check } from "../plugin/plugin-checks.ts";
import type { StoreDriver } from "../store/driver.ts";
import type { Applier, Seat } from "../gateway/seat.ts";
import type { CreateServer } from "../http/app.ts";
import { ChannelDriver } from "./channel-driver.ts";
import { toError, type WorkerChannel } from "./channel.ts";
import { createKeptServer } from "./kept-server.ts";
import { WorkerKeeper } from "./worker-keeper.ts";
import { type Change, type Orders, type Refused, type Round, WORKER } from "./protocol.ts";

/** The place of a gateway among the workers of its machine. */
export class WorkerSeat implements Seat {
  /** Has the primary hold the connections too, to answer when this worker is killed; `undefined` where it does not. */
  readonly createServer: CreateServer | undefined;
  readonly #channel: WorkerChannel;
  readonly #orders: Orders;
  #status: readonly WorkerStatus[];
  #wasComplete = false;
  readonly #writes = new Map<number, () => Promise<void>>();
  #lastWrite = 0;

  constructor(channel: WorkerChannel, orders: Orders) {
    this.#channel = channel;
    this.#orders = orders;
    this.#status = orders.status;
    if (orders.keepsConnections) this.createServer = createKeptServer(new WorkerKeeper(channel));
    channel.answer(WORKER.status, (status: readonly WorkerStatus[]) => this.#note(status));
    channel.answer(WORKER.write, (change: number) => this.#writes.get(change)?.());
  }

  /** Of this worker, from 1. */
  get number(): number {
    return this.#orders.number;
  }

  /** How many configs all of them had applied when this one began, that one included. */
  get generation(): number {
    return this.#orders.generation;
  }

  /** All workers, this one included. */
  get status(): readonly WorkerStatus[] {
    return this.#status;
  }

  /** The store that all workers share, where it is not that of the config. */
  openStore(): StoreDriver | undefined {
    const { store } = this.#orders;
    return store && new ChannelDriver(this.#channel, store.durable);
  }

  /** Says how this gateway takes part in rounds. */
  takePart(applier: Applier): void {
    this.#channel.answer(WORKER.apply, ({ number, text }: Round) =>
      applier.apply(text, () => this.#channel.ask<void>(WORKER.vote, number)),
    );
    this.#channel.answer(WORKER.refused, ({ failure }: Refused) =>
      applier.refuse(toGatewayError(toError(failure))),
    );
  }

  /** Has all workers read the config again and apply it. */
  reload(): Promise<ReloadReport> {
    return this.#channel.ask(WORKER.reload);
  }

  /** Has all workers apply a text; it is written when all could. */
  async change(text: string, write: () => Promise<void>): Promise<ReloadReport> {
    const id = ++this.#lastWrite;
    this.#writes.set(id, write);
    const body: Change = { id, text };
    try {
      return await this.#channel.ask<ReloadReport>(WORKER.change, body);
    } finally {
      this.#writes.delete(id);
    }
  }

  /**
   * Says which replica of the store this worker is.
   * @param onGone hears which one a worker was that has ended
   */
  tellReplica(own: string, onGone: (replica: string) => void): void {
    this.#channel.answer(WORKER.gone, onGone);
    this.#channel.tell(WORKER.replica, own);
  }

  /** Says how this gateway's own metrics are found. */
  tellMetrics(own: () => Promise<ProcessMetrics>): void {
    this.#channel.answer(WORKER.ownMetrics, own);
  }

  /** The metrics of each worker. */
  metrics(): Promise<readonly ProcessMetrics[]> {
    return this.#channel.ask(WORKER.metrics);
  }

  /** Whether the machine is ready: not before all workers serve; one that is lost later is only missed. */
  readonly check: Check = { name: "workers", ask: () => this.#askHow() };

  #askHow(): ReturnType<Check["ask"]> {
    const count = this.#status.length;
    const ready = this.#status.filter(({ state }) => state === "ready").length;
    if (ready === count) return undefined;
    const message = `${ready} of ${count} workers serve.`;
    if (!this.#wasComplete) return message;
    return {
      message,
      path: ["workers"],
      hint: "The log says why a worker ended; it is started again.",
    };
  }

  #note(status: readonly WorkerStatus[]): void {
    this.#status = status;
    this.#wasComplete ||= status.every(({ state }) => state === "ready");
  }
}
