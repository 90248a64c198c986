import { toGatewayError, type GatewayError } from "propylon";
import { pause } from "propylon/kit";
import type { Ending } from "./ending.ts";
import { Execution, type ExecutionDependencies } from "./execution.ts";

/** Pause after something that failed at once, in milliseconds. */
const FAILED_MS = 1_000;

/** Where a worker is. */
export type WorkerState =
  /** Waits for the runtime's first health. */
  | "starting"
  /** Takes tasks. */
  | "ready"
  /** The queue or the runtime is away; it continues on its own. */
  | "waiting"
  /** The runtime did not become healthy in time, speaks another contract, or a stream is not as it must be. */
  | "failed"
  /** Takes no more; what runs may end. */
  | "draining"
  | "stopped";

/** Whom a worker tells. */
export interface Reports {
  /** A task begins; the function it returns is told how it ends. */
  readonly began: (facts: { readonly attempt: number }) => (ending: Ending) => void;
  readonly changed: () => void;
}

/** Takes tasks from the queue and has the runtime do them, as many at a time as it was told. */
export class Worker {
  readonly #dependencies: ExecutionDependencies;
  readonly #reports: Reports;
  /** Takes no more tasks. */
  readonly #leaving = new AbortController();
  /** Ends those that run. */
  readonly #ending = new AbortController();
  readonly #running = new Set<Execution>();
  #state: WorkerState = "starting";
  #failure: GatewayError | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(dependencies: ExecutionDependencies, reports: Reports) {
    this.#dependencies = dependencies;
    this.#reports = reports;
    dependencies.transport.onStatus(() => this.#look());
  }

  get state(): WorkerState {
    return this.#state;
  }

  /** Why it failed. */
  get failure(): GatewayError | undefined {
    return this.#failure;
  }

  /** Why it takes no tasks, as a sentence; `undefined` while it does. */
  get reason(): string | undefined {
    const { transport, runtime } = this.#dependencies;
    if (this.#failure) return this.#failure.message;
    if (this.#state === "draining" || this.#state === "stopped") return "It takes no more tasks.";
    const { reason, isConnected } = transport.status;
    if (reason !== undefined || !isConnected) return reason ?? "The queue is away.";
    return runtime.isHealthy ? undefined : `The runtime is not healthy. ${runtime.reason}`;
  }

  /** Ids of the tasks that run. */
  get tasks(): readonly string[] {
    return [...this.#running].map(({ id }) => id);
  }

  /** Begins, once those before it are done. */
  start(before: Promise<unknown>): void {
    this.#work = this.#run(before);
  }

  /**
   * Takes no more tasks, and resolves when those that run have ended; after so many milliseconds they are handed to somebody else.
   * May be called again, with less.
   */
  async end(grace: number): Promise<void> {
    this.#leaving.abort();
    if (this.#state !== "stopped") this.#set("draining");
    const over = new AbortController();
    void pause(grace, over.signal).then(() => over.signal.aborted || this.#ending.abort());
    await this.#work;
    over.abort();
    this.#set("stopped");
  }

  async #run(before: Promise<unknown>): Promise<void> {
    const { signal } = this.#leaving;
    const { concurrency } = this.#dependencies.settings;
    await before;
    await this.#begin();
    if (signal.aborted) return;
    const lanes = Array.from({ length: concurrency }, () => this.#takeTasks());
    await Promise.all([...lanes, this.#watchHealth()]);
  }

  /** Waits for the runtime; one that failed may still come. */
  async #begin(): Promise<void> {
    const { runtime } = this.#dependencies;
    const { signal } = this.#leaving;
    while (!signal.aborted) {
      try {
        await runtime.start(signal);
        this.#failure = undefined;
        return this.#look();
      } catch (error) {
        this.#fail(error);
        await pause(FAILED_MS, signal);
      }
    }
  }

  /**
   * One task after the other. While the result of one is stored and its ack confirmed the next is on its way to us: it begins when
   * that result is in the ledger.
   */
  async #takeTasks(): Promise<void> {
    const { signal } = this.#leaving;
    let next: Promise<Execution | undefined> | undefined;
    let concluded: Promise<void> | undefined;
    while (!signal.aborted) {
      const execution = await (next ?? this.#take());
      next = undefined;
      // It came in the moment we stopped.
      if (signal.aborted) execution?.handBack();
      if (signal.aborted || !execution) continue;
      const ended = await this.#execute(execution, () => {
        next = this.#take();
      });
      await concluded;
      concluded = ended();
    }
    (await next)?.handBack();
    await concluded;
  }

  async #take(): Promise<Execution | undefined> {
    const { signal } = this.#leaving;
    this.#look();
    try {
      // No turn is lost where all is well: what is written in one leaves in one, the result that is on its way with the next request.
      if (!this.#dependencies.runtime.isHealthy) await this.#whenHealthy();
      this.#look();
      const delivery = await this.#dependencies.transport.pull(signal);
      return delivery && new Execution(delivery, this.#dependencies, this.#ending.signal);
    } catch {
      await pause(FAILED_MS, signal);
      return undefined;
    }
  }

  /** What it serves by now may rule it out. */
  async #whenHealthy(): Promise<void> {
    try {
      await this.#dependencies.runtime.whenHealthy(this.#leaving.signal);
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  /** Resolves once nothing is left to be stored, with what is left to be done: to wait for the ack, and to tell. */
  async #execute(execution: Execution, onAnswer: () => void): Promise<() => Promise<void>> {
    this.#running.add(execution);
    const tell = this.#reports.began({ attempt: execution.attempt });
    const ending = await execution.run(onAnswer);
    this.#running.delete(execution);
    if ("failure" in ending && ending.failure.isAbsence)
      this.#dependencies.runtime.lose(ending.failure.message);
    this.#look();
    return async () => {
      await execution.confirmed();
      tell(ending);
    };
  }

  /** Between tasks, too: an observer sees how the runtime is. */
  async #watchHealth(): Promise<void> {
    const { signal } = this.#leaving;
    const { runtime, settings } = this.#dependencies;
    while (!signal.aborted) {
      await pause(settings.runtime.interval, signal);
      if (signal.aborted) return;
      if (runtime.isHealthy) await runtime.look(signal).catch((error) => this.#fail(error));
      this.#look();
    }
  }

  #fail(error: unknown): void {
    this.#failure = toGatewayError(error);
    this.#set("failed");
  }

  /** Finds out where it is. */
  #look(): void {
    if (this.#leaving.signal.aborted) return;
    const { transport, runtime } = this.#dependencies;
    const { fault, reason } = transport.status;
    const isAble = transport.status.isConnected && reason === undefined;
    if (fault) {
      this.#failure = fault;
      return this.#set("failed");
    }
    if (this.#state === "failed" && isAble && runtime.isHealthy) this.#failure = undefined;
    if (this.#failure) return;
    if (isAble && runtime.isHealthy) this.#set("ready");
    else if (this.#state !== "starting") this.#set("waiting");
  }

  #set(state: WorkerState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#reports.changed();
  }
}
