import { backoffDelay } from "../kit/backoff.ts";
import { setTimer } from "../kit/timers.ts";
import type { Logger } from "pino";
import type { WorkerStatus } from "../plugin/description.ts";
import { LostConnections } from "./lost-connections.ts";
import { type WorkerEnd, type WorkerOptions, WorkerProcess } from "./worker-process.ts";

/** Waits before a worker that ended is started again, in milliseconds. */
const RESTART = { initial: 100, max: 15_000 };
/** One that served for so long has not failed to start, in milliseconds. */
const STEADY_MS = 10_000;

/** What supervising workers takes. */
export interface SupervisorOptions {
  readonly count: number;
  readonly log: Pick<Logger, "info" | "error">;
  /** Gets what workers write, whole lines only. */
  onLines(text: string): void;
  /** Hears of each worker before it begins. */
  onWorker(worker: WorkerProcess): void;
  /** Hears of each worker that has ended. */
  onEnd(worker: WorkerProcess): void;
  /** Hears whenever one is started, serves or ends. */
  onStatus(status: readonly WorkerStatus[]): void;
}

/** One place of a worker, over all its lives. */
interface Seat {
  readonly number: number;
  worker: WorkerProcess | undefined;
  lives: number;
  /** Lives in a row that ended soon. */
  failures: number;
  restart: NodeJS.Timeout | undefined;
}

/** Keeps a number of workers running. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #seats: readonly Seat[];
  readonly #lost = new LostConnections();
  #phase: "starting" | "running" | "closing" = "starting";

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#seats = Array.from({ length: options.count }, (_, index) => ({
      number: index + 1,
      worker: undefined,
      lives: 0,
      failures: 0,
      restart: undefined,
    }));
  }

  /** Those that are there, ready or not. */
  get workers(): readonly WorkerProcess[] {
    return this.#seats.flatMap(({ worker }) => (worker ? [worker] : []));
  }

  get status(): readonly WorkerStatus[] {
    return this.#seats.map(({ number, worker, lives }) => ({
      number,
      pid: worker?.pid ?? null,
      state: worker ? (worker.isReady ? "ready" : "starting") : "ended",
      restarts: Math.max(0, lives - 1),
    }));
  }

  /**
   * Starts them all: the first alone, so that what is wrong with the config or a port is told once.
   *
   * @returns how one of them ended in place of serving; then all are ended
   */
  async start(): Promise<WorkerEnd | undefined> {
    const [first, ...others] = this.#seats;
    const end = (await this.#begin(first!)) ?? (await this.#beginAll(others));
    if (end || this.#phase === "closing") {
      await this.close(kill);
      return end;
    }
    this.#phase = "running";
    for (const seat of this.#seats) if (!seat.worker) this.#restart(seat);
    return undefined;
  }

  /** Asks each to end, and waits until they have. */
  async close(askToEnd: (worker: WorkerProcess) => void): Promise<void> {
    this.#phase = "closing";
    for (const { restart } of this.#seats) clearTimeout(restart);
    const { workers } = this;
    for (const worker of workers) (worker.isReady ? askToEnd : kill)(worker);
    await Promise.all(workers.map(({ ended }) => ended));
    this.#lost.close();
  }

  /** Ends them at once; at the end of this process, when one does not hear that it is to end. */
  kill(): void {
    for (const worker of this.workers) worker.kill();
  }

  async #beginAll(seats: readonly Seat[]): Promise<WorkerEnd | undefined> {
    const ends = await Promise.all(seats.map((seat) => this.#begin(seat)));
    return ends.find((end) => end !== undefined);
  }

  /** @returns how it ended, unless it serves */
  async #begin(seat: Seat): Promise<WorkerEnd | undefined> {
    const options = this.#options;
    const worker = new WorkerProcess(seat.number, this.#workerOptions());
    seat.worker = worker;
    seat.lives++;
    const ended = worker.ended.then((end) => {
      this.#end(seat, worker, end);
      return end;
    });
    options.onWorker(worker);
    this.#tell();
    await worker.settled;
    if (!worker.isReady) return ended;
    const begun = performance.now();
    void ended.then(() => performance.now() - begun > STEADY_MS && (seat.failures = 0));
    this.#tell();
    void this.#watch(worker);
    return undefined;
  }

  /** Kills it when it is stuck; then it is started again as after any other end. */
  async #watch(worker: WorkerProcess): Promise<void> {
    await worker.untilStuck();
    if (worker.channel.closed.aborted || this.#phase === "closing") return;
    const { number, pid } = worker;
    this.#options.log.error(
      { worker: number, pid },
      "a worker does not answer any more; it is killed",
    );
    worker.kill();
  }

  #workerOptions(): WorkerOptions {
    const options = this.#options;
    return {
      lost: this.#lost,
      onLines: (text) => options.onLines(text),
      onLoss({ number, pid }, loss) {
        if (loss.answered + loss.interrupted === 0) return;
        options.log.info(
          { worker: number, pid, ...loss },
          "connections of a worker were taken over",
        );
      },
    };
  }

  #end(seat: Seat, worker: WorkerProcess, { code, signal }: WorkerEnd): void {
    const { log } = this.#options;
    const { number, pid, isReady } = worker;
    seat.worker = undefined;
    this.#options.onEnd(worker);
    this.#tell();
    if (this.#phase === "closing" || (this.#phase === "starting" && !isReady)) return;
    log.error({ worker: number, pid, code, signal }, "a worker ended; it is started again");
    if (this.#phase === "running") this.#restart(seat);
  }

  #restart(seat: Seat): void {
    const wait = backoffDelay(++seat.failures, RESTART);
    seat.restart = setTimer(() => {
      void this.#begin(seat).then((end) => {
        if (!end) this.#options.log.info({ worker: seat.number }, "a worker serves again");
      });
    }, wait);
  }

  #tell(): void {
    this.#options.onStatus(this.status);
  }
}

function kill(worker: WorkerProcess): void {
  worker.kill();
}
