import type { PluginContext } from "propylon";
import { within } from "propylon/kit";
import { CheckpointThread, type ThreadOptions } from "./checkpoint-thread.ts";
import type { PreparedStatements } from "./statements.ts";
import type { Writes } from "./writes.ts";

/** Pages in the log of writes behind which the thread copies them into the file: 16 MB, to which that log shrinks again. */
const PAGES = 4_000;
/** The same for the engine, which does it on the loop where there is no thread. */
const OWN_PAGES = 1_000;
/** Where the thread does it and is late: 128 MB, so that the log cannot fill the disk. */
const LATEST_PAGES = 32_000;
/** How long the engine does it behind a failure of the thread, in milliseconds. */
const REST_MS = 60_000;
/** How long a copy that is under way may take when the store is closed, in milliseconds. */
const CLOSE_MS = 5_000;

/** What {@link Checkpoints} need. */
export interface CheckpointsOptions {
  readonly thread: ThreadOptions;
  readonly statements: PreparedStatements;
  readonly writes: Pick<Writes, "hold" | "release">;
  readonly log: PluginContext["log"];
}

/** Copies the log of writes into the file from time to time, in a thread: on the loop it would hold every call for 10 to 100 ms. */
export class Checkpoints {
  readonly #options: CheckpointsOptions;
  #thread: CheckpointThread | undefined;
  #written = 0;
  #running: Promise<void> | undefined;
  #notBefore = 0;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
  }

  /** So many pages more are in the log, about. */
  note(pages: number): void {
    this.#written += pages;
    if (this.#written < PAGES || this.#running || Date.now() < this.#notBefore) return;
    this.#written = 0;
    this.#running = this.#run()
      .catch((error: unknown) =>
        this.#options.log.error({ err: error }, "no copy of the log of writes"),
      )
      .finally(() => (this.#running = undefined));
  }

  async close(): Promise<void> {
    this.#notBefore = Infinity;
    const isDone = await within(this.#running ?? Promise.resolve(), CLOSE_MS);
    if (isDone) await this.#thread?.end();
    else this.#thread?.leave();
  }

  async #run(): Promise<void> {
    try {
      const thread = (this.#thread ??= this.#start());
      await thread.do("copy");
      await this.#finish(thread);
    } catch (error) {
      await this.#giveUp(error);
    }
  }

  /** What was written during the copy is little, but where there is always more the log would never be short again. */
  async #finish(thread: CheckpointThread): Promise<void> {
    const { writes } = this.#options;
    writes.hold();
    try {
      await thread.do("finish");
    } finally {
      writes.release();
    }
  }

  #start(): CheckpointThread {
    const { thread, statements } = this.#options;
    const started = new CheckpointThread(thread);
    statements.exec(`PRAGMA wal_autocheckpoint = ${LATEST_PAGES}`);
    return started;
  }

  async #giveUp(error: unknown): Promise<void> {
    const { log, statements } = this.#options;
    log.warn({ err: error }, "the store copies its log of writes on the loop for a while");
    await this.#thread?.end();
    this.#thread = undefined;
    this.#notBefore = Math.max(this.#notBefore, Date.now() + REST_MS);
    statements.exec(`PRAGMA wal_autocheckpoint = ${OWN_PAGES}`);
  }
}
