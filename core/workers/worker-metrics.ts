import { countsTogether, type ProcessMetrics } from "../gateway/metrics.ts";
import { within } from "../kit/timers.ts";
import { WORKER } from "./protocol.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** How long a worker may take to tell its metrics, in milliseconds. */
const ANSWER_MS = 2_000;

/** The metrics of all workers. What those counted that are gone stays: a total that falls is a restart to Prometheus, and counted twice. */
export class WorkerMetrics {
  readonly #last = new Map<WorkerProcess, ProcessMetrics>();
  #gone: Promise<ProcessMetrics> = Promise.resolve([]);

  /** Of each worker, as it last told them where it does not answer in time, and of those that are gone. */
  async collect(workers: readonly WorkerProcess[]): Promise<readonly ProcessMetrics[]> {
    const ready = workers.filter(({ isReady }) => isReady);
    await within(Promise.allSettled(ready.map((worker) => this.#ask(worker))), ANSWER_MS);
    const pages = ready.flatMap((worker) => {
      const page = this.#last.get(worker);
      return page ? [page] : [];
    });
    return [...pages, await this.#gone];
  }

  /** Keeps what a worker counted that has ended, as far as it was asked. */
  keep(worker: WorkerProcess): void {
    const last = this.#last.get(worker);
    this.#last.delete(worker);
    if (!last) return;
    const before = this.#gone;
    this.#gone = before.then(async (gone) => countsTogether([gone, last])).catch(() => before);
  }

  async #ask(worker: WorkerProcess): Promise<void> {
    const page = await worker.channel.ask<ProcessMetrics>(WORKER.ownMetrics);
    // It may have ended meanwhile, and been kept.
    if (!worker.channel.closed.aborted) this.#last.set(worker, page);
  }
}
