import { Worker } from "node:worker_threads";

/** What the thread does: copies what it can while others write; then, while nobody does, the rest; gives the file back. */
export type CheckpointStep = "copy" | "finish" | "end";

/** The file, as the thread opens it. */
export interface ThreadOptions {
  readonly path: string;
  /** Where the package with the engine is; absent where Node has its own. */
  readonly module: string | undefined;
  readonly synchronous: string;
  readonly journalSize: number;
}

/**
 * A text, because a gateway runs from sources, from its package and from a build of one file. The first write behind a complete copy
 * begins the log of writes again, and waits for the disk: so it is one of the thread's.
 */
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const { path, module, synchronous, journalSize } = workerData;
const Engine = module === undefined ? process.getBuiltinModule("node:sqlite").DatabaseSync : require(module);
const engine = new Engine(path);
engine.exec("PRAGMA synchronous = " + synchronous);
engine.exec("PRAGMA journal_size_limit = " + journalSize);
engine.exec("PRAGMA wal_autocheckpoint = 0");
const copy = (how) => engine.prepare("PRAGMA wal_checkpoint(" + how + ")").get();
const count = "INSERT INTO counter (name, value) VALUES ('checkpoint', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1";
const steps = {
  copy: () => copy("PASSIVE"),
  finish() {
    if (Number(copy("RESTART").busy) === 0) engine.exec(count);
  },
  end() {
    engine.close();
    parentPort.close();
  },
};
parentPort.on("message", (step) => {
  steps[step]();
  parentPort.postMessage(step);
});
`;
/** Megabytes of JavaScript that the thread may hold; it holds next to none. */
const MEMORY = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 };

/** A thread with a connection of its own to a file, which waits for the disk in place of the gateway's loop. */
export class CheckpointThread {
  readonly #worker: Worker;
  /** Why it does nothing any more. */
  #fault: Error | undefined;
  #done: ((fault?: Error) => void) | undefined;

  constructor(options: ThreadOptions) {
    this.#worker = new Worker(PROGRAM, {
      eval: true,
      workerData: options,
      env: { NODE_NO_WARNINGS: "1" },
      execArgv: [],
      resourceLimits: MEMORY,
    });
    this.#worker.unref();
    this.#worker.on("message", () => this.#done?.());
    this.#worker.on("error", (error) => (this.#fault ??= error));
    this.#worker.on("exit", () => {
      this.#fault ??= new Error("the thread has ended");
      this.#done?.(this.#fault);
    });
  }

  /** One at a time. @throws why the thread ended before the step was done */
  do(step: CheckpointStep): Promise<void> {
    if (this.#fault) return Promise.reject(this.#fault);
    this.#worker.ref();
    return new Promise((resolve, reject) => {
      this.#done = (fault) => {
        this.#worker.unref();
        if (fault) reject(fault);
        else resolve();
      };
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      this.#worker.postMessage(step);
    });
  }

  /** The process may end without it: a thread that waits for a disk cannot be ended. */
  leave(): void {
    this.#worker.unref();
  }

  /** Gives the file back. Never rejects. */
  async end(): Promise<void> {
    await this.do("end").catch(() => {});
    await this.#worker.terminate();
  }
}
