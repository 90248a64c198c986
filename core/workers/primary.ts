import type { Logger } from "pino";
import type { Summary } from "../gateway/describe.ts";
import type { ReloadReport } from "../plugin/hooks.ts";
import { toGatewayError } from "../kit/errors.ts";
import type { StoreDriver } from "../store/driver.ts";
import { toFailure } from "./channel.ts";
import {
  type Change,
  type InForce,
  type Orders,
  type ProcessTimeouts,
  type Refused,
  WORKER,
} from "./protocol.ts";
import { Rounds } from "./rounds.ts";
import { serveStore } from "./serve-store.ts";
import { Supervisor } from "./supervisor.ts";
import { WorkerMetrics } from "./worker-metrics.ts";
import { prepareWorkers, type WorkerEnd, type WorkerProcess } from "./worker-process.ts";

/** A config as it was read and checked, to be applied by workers. */
export interface ReadConfig {
  /** Absent for one that each worker reads itself. */
  readonly text?: string | undefined;
}

/** What the primary of a gateway's workers needs. */
export interface PrimaryOptions {
  readonly count: number;
  readonly log: Logger;
  /** Kept here for all workers; absent: each opens the shared one of the config. */
  readonly store: StoreDriver | undefined;
  /** The config that they begin with. */
  readonly config: ReadConfig;
  /** Those of that config. */
  readonly timeouts: ProcessTimeouts;
  /** Reads the config again and checks it; absent where it stands in no file. */
  readonly read?: () => Promise<ReadConfig>;
  /** Gets what workers write. */
  onLines(text: string): void;
  /** Hears of a config that all workers have applied. */
  onApplied(report: ReloadReport): void;
  /** Hears why one was refused. */
  onRefused(error: unknown): void;
}

/** What holds the workers of a gateway together: it starts them, keeps their store, and lets them change as one. It serves no request itself. */
export class Primary {
  readonly #options: PrimaryOptions;
  readonly #supervisor: Supervisor;
  readonly #rounds: Rounds;
  readonly #metrics = new WorkerMetrics();
  #config: ReadConfig;
  #generation = 1;
  #inForce: InForce;
  #isLeaving = false;

  constructor(options: PrimaryOptions) {
    this.#options = options;
    this.#config = options.config;
    const { count, log, timeouts } = options;
    this.#inForce = { sources: [], timeouts };
    this.#supervisor = new Supervisor({
      count,
      log,
      onLines: (text) => options.onLines(text),
      onWorker: (worker) => this.#greet(worker),
      onEnd: (worker) => this.#bury(worker),
      onStatus: (status) => this.#tellAll(WORKER.status, status),
    });
    this.#rounds = new Rounds(() => this.#supervisor.workers);
  }

  /**
   * Starts the workers.
   *
   * @returns how one ended in place of serving, which it has told
   */
  start(): Promise<WorkerEnd | undefined> {
    prepareWorkers();
    return this.#supervisor.start();
  }

  /** Files that plugins read, beside those of the config. */
  get sources(): readonly string[] {
    return this.#inForce.sources;
  }

  /** Those of the config in force. */
  get timeouts(): ProcessTimeouts {
    return this.#inForce.timeouts;
  }

  /** What a worker runs, once its servers are settled. */
  async summarise(): Promise<Summary | undefined> {
    const [first] = this.#supervisor.workers.filter(({ isReady }) => isReady);
    return first?.channel.ask<Summary>(WORKER.summary).catch(() => undefined);
  }

  /** Reads the config again and has all workers apply it, or none. */
  reload(): Promise<ReloadReport> {
    return this.#attempt(() => this.#options.read?.() ?? Promise.resolve(this.#config));
  }

  /** Has the workers say that they will end soon, those that begin meanwhile, too. */
  giveNotice(): void {
    this.#isLeaving = true;
    this.#tellAll(WORKER.notice, undefined);
  }

  /** Ends the workers as a signal would, and waits until they have ended. */
  async close(): Promise<void> {
    this.#rounds.close();
    await this.#supervisor.close(({ channel }) => channel.tell(WORKER.end));
    await this.#options.store?.close();
  }

  /** Ends the workers at once. */
  kill(): void {
    this.#supervisor.kill();
  }

  #greet(worker: WorkerProcess): void {
    const { channel } = worker;
    const { store } = this.#options;
    if (store) serveStore(store, channel);
    channel.answer(WORKER.join, () => this.#rounds.between(() => this.#join(worker)));
    channel.answer(WORKER.replica, (id: string) => void (worker.replica = id));
    channel.answer(WORKER.metrics, () => this.#metrics.collect(this.#supervisor.workers));
    channel.answer(WORKER.vote, (round: number) => this.#rounds.vote(round));
    channel.answer(WORKER.reload, () => this.reload());
    channel.answer(WORKER.inForce, (inForce: InForce) => void (this.#inForce = inForce));
    channel.answer(WORKER.change, ({ id, text }: Change) =>
      this.#attempt(
        () => Promise.resolve({ text }),
        () => channel.ask(WORKER.write, id),
      ),
    );
  }

  /** The others wait for nothing from it any more. */
  #bury(worker: WorkerProcess): void {
    this.#metrics.keep(worker);
    if (worker.replica !== undefined) this.#tellAll(WORKER.gone, worker.replica);
  }

  #join(worker: WorkerProcess): Orders {
    const { store } = this.#options;
    worker.hasJoined = true;
    // Not before it asks: until then it cannot receive anything.
    if (this.#isLeaving) worker.channel.tell(WORKER.notice);
    return {
      number: worker.number,
      text: this.#config.text,
      generation: this.#generation,
      store: store && { durable: store.durable },
      status: this.#supervisor.status,
      keepsConnections: worker.keepsConnections,
    };
  }

  #attempt(read: () => Promise<ReadConfig>, write?: () => Promise<void>): Promise<ReloadReport> {
    return this.#rounds.between(async () => {
      try {
        const config = await read();
        const report = await this.#rounds.run(config.text, write);
        this.#config = config;
        this.#generation = report.generation;
        this.#options.onApplied(report);
        return report;
      } catch (error) {
        const refused: Refused = { failure: toFailure(toGatewayError(error)) };
        this.#tellAll(WORKER.refused, refused);
        this.#options.onRefused(error);
        throw error;
      }
    });
  }

  #tellAll(name: string, body: unknown): void {
    for (const { channel } of this.#supervisor.workers) channel.tell(name, body);
  }
}
