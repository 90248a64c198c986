import cluster, { type Worker } from "node:cluster";
import type { Readable } from "node:stream";
import { GatewayError } from "../kit/errors.ts";
import { pause, within } from "../kit/timers.ts";
import { WorkerChannel } from "./channel.ts";
import { KeptConnections, type Loss } from "./kept-connections.ts";
import type { LostConnections } from "./lost-connections.ts";
import { WORKER } from "./protocol.ts";
import { WORKER_VARIABLE } from "./role.ts";

/** How a worker ended. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** How often a worker is asked whether it answers, and how long it may take, in milliseconds. */
const PING_MS = 2_000;
const ANSWER_MS = 10_000;
/** So many answers in a row that did not come mean that it is stuck: one may be late because the machine slept. */
const MISSED = 2;

/** What may be kept of a line that does not end, in characters. */
const MAX_LINE = 1024 * 1024;

/**
 * Says how workers are started: by the words of this process, on a handle that they share.
 *
 * @throws {GatewayError} `invalid` in a process that is a worker itself
 */
export function prepareWorkers(): void {
  if (!cluster.isPrimary)
    throw new GatewayError("invalid", "A worker of node:cluster cannot have workers of its own.", {
      hint: "Start one instance and set workers, or leave workers out and let your process manager start several.",
    });
  // Not round robin: a connection on its way to a worker that dies would stay open, and its client would wait.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
}

/** What a worker is started with. */
export interface WorkerOptions {
  /** Takes over its connections when it is killed. */
  readonly lost: LostConnections;
  /** Gets what it writes, whole lines only. */
  onLines(text: string): void;
  /** Hears what became of its connections when it was killed. */
  onLoss(worker: WorkerProcess, loss: Loss): void;
}

/** One life of a worker. */
export class WorkerProcess {
  readonly number: number;
  readonly channel: WorkerChannel;
  readonly ended: Promise<WorkerEnd>;
  /** Resolves when it serves, or has ended before. */
  readonly settled: Promise<unknown>;
  /** Whether it knows what to run. */
  hasJoined = false;
  isReady = false;
  /** Which replica of the store it is, once it has said so. */
  replica: string | undefined;
  readonly #worker: Worker;
  readonly #kept: KeptConnections | undefined;

  constructor(number: number, options: WorkerOptions) {
    this.number = number;
    this.#kept = createKept();
    this.#worker = fork(number, this.#kept?.marks);
    this.channel = new WorkerChannel(this.#worker);
    this.ended = endOf(this.#worker);
    this.settled = Promise.race([this.ended, this.#readiness()]);
    // One that reads nothing any more, or has closed its side, is of no use.
    this.channel.closed.addEventListener("abort", () => this.kill());
    if (this.#kept) this.#keep(this.#kept, options);
    joinLines(this.#worker.process.stdout!, (text) => options.onLines(text));
  }

  /** Whether its connections are held here, too. */
  get keepsConnections(): boolean {
    return this.#kept !== undefined;
  }

  get pid(): number | null {
    return this.#worker.process.pid ?? null;
  }

  kill(): void {
    this.#worker.process.kill("SIGKILL");
  }

  /**
   * Resolves when it answers nothing any more, e.g. because a plugin never gives its loop back: probes of the listener come to the
   * others and do not find out. Or when it is gone.
   */
  async untilStuck(): Promise<void> {
    const { closed } = this.channel;
    for (let missed = 0; missed < MISSED && !closed.aborted;) {
      const isHeard = await within(this.channel.ask(WORKER.ping), ANSWER_MS);
      missed = isHeard ? 0 : missed + 1;
      if (isHeard) await pause(PING_MS, closed);
    }
  }

  #keep(kept: KeptConnections, options: WorkerOptions): void {
    this.#worker.on("message", (message: unknown, handle: unknown) => kept.take(message, handle));
    this.channel.answer(WORKER.closed, (places: readonly number[]) => kept.drop(places));
    // What it sent may still be read when it has ended; one that never began has sent nothing.
    const isRead = new Promise<unknown>((resolve) => this.#worker.once("disconnect", resolve));
    void this.ended.then(async ({ code }) => {
      if (this.pid !== null) await isRead;
      if (code === 0) kept.close();
      else options.onLoss(this, kept.passOn(options.lost));
    });
  }

  #readiness(): Promise<void> {
    return new Promise((resolve) =>
      this.channel.answer(WORKER.ready, () => {
        this.isReady = true;
        resolve();
      }),
    );
  }
}

/** Nothing where no temporary file can be made, e.g. in a container whose files are read-only. */
function createKept(): KeptConnections | undefined {
  try {
    return new KeptConnections();
  } catch {
    return undefined;
  }
}

function fork(number: number, marks: number | undefined): Worker {
  const stdio = ["ignore", "pipe", "inherit", "ipc", marks ?? "ignore"] as const;
  cluster.setupPrimary({ serialization: "advanced", stdio: [...stdio] });
  return cluster.fork({ [WORKER_VARIABLE]: String(number) });
}

function endOf(worker: Worker): Promise<WorkerEnd> {
  return new Promise((resolve) => {
    worker.once("exit", (code: number | null, signal: string | null) => resolve({ code, signal }));
    // It could not be started, or not be told something; then it is gone, or is ended.
    worker.on("error", () => {
      if (worker.process.pid === undefined) resolve({ code: 1, signal: null });
    });
  });
}

/** Lines of several processes would mix if each wrote what it just has. */
function joinLines(stream: Readable, onLines: (text: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) onLines(rest + text.slice(0, end));
    rest = end > 0 ? text.slice(end) : rest + text;
    if (rest.length <= MAX_LINE) return;
    onLines(`${rest}\n`);
    rest = "";
  });
  stream.on("end", () => rest !== "" && onLines(`${rest}\n`));
}
