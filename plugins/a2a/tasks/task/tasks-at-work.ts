import { GatewayError, type PluginContext } from "propylon";
import { FairQuota, within } from "propylon/kit";
import { InFlightSet } from "propylon/internal";
import type { Message } from "propylon/contract";
import type { Logger } from "pino";
import type { A2aOptions } from "../../options.ts";
import type { SendOptions, TaskOwner } from "../../service.ts";
import type { Skill } from "./skills.ts";
import type { LiveTask } from "./live-task.ts";
import { SHUTDOWN } from "./refusals.ts";
import { callSkill, follow, type WorkEnd } from "./turn.ts";
import { Work } from "./work.ts";

/** What tasks are worked on with: of the config in force, so it changes while tasks live. */
export interface TaskDependencies {
  readonly options: A2aOptions["tasks"];
  /** By id; the first is the default. */
  readonly skills: ReadonlyMap<string, Skill>;
  readonly call: PluginContext["call"];
  readonly log: Logger;
}

/** How long the last step of a shutdown waits for what does not stop, in milliseconds; programs end with the process. */
const LAST_MS = 1_000;

/** What {@link TasksAtWork} need. */
export interface TasksAtWorkParts {
  /** Of the config in force. */
  readonly dependencies: () => TaskDependencies;
  readonly isDraining: () => boolean;
  /** Moves a task to a state, which may be its last. */
  readonly finish: (task: LiveTask, move: () => void) => void;
}

/** The tasks whose skills are called now. */
export class TasksAtWork {
  readonly #parts: TasksAtWorkParts;
  readonly #busy = new InFlightSet<LiveTask>();
  /** The work that calls of our own tools are about, by the key of their peer. */
  readonly #works = new Map<string, Work>();
  /** Those of {@link #busy} whose call waits for an answer: they take no place of `tasks.maxRunning`. */
  readonly #asking = new Set<LiveTask>();
  /** Who waits for a place. */
  readonly #waiting = new Set<() => void>();
  /** The places of each principal. */
  readonly #shares = new FairQuota();

  constructor(parts: TasksAtWorkParts) {
    this.#parts = parts;
  }

  /** How many places of `tasks.maxRunning` are taken. */
  get places(): number {
    return this.#busy.size - this.#asking.size;
  }

  /** How many of them a principal has. */
  placesOf({ ref }: TaskOwner): number {
    return this.#shares.of(ref);
  }

  /** Resolves when a place was given back, or the signal aborts. */
  freed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#waiting.delete(end);
        signal.removeEventListener("abort", end);
        resolve();
      };
      this.#waiting.add(end);
      signal.addEventListener("abort", end);
      if (signal.aborted) end();
    });
  }

  has(task: LiveTask): boolean {
    return task.slot >= 0;
  }

  /** The work that a call of one of our own tools is about; `undefined` when it is not about a task. */
  workOf(peerKey: string): Work | undefined {
    return this.#works.get(peerKey);
  }

  /** It takes a place from now on, whatever is to be done before the work begins. */
  reserve(task: LiveTask): void {
    this.#shares.add(task.owner.ref);
    this.#busy.add(task);
  }

  /** The work does not begin. */
  release(task: LiveTask): void {
    task.work = undefined;
    if (this.#busy.delete(task) && !this.#asking.delete(task)) this.#shares.remove(task.owner.ref);
    this.#tellFreed();
  }

  #tellFreed(): void {
    for (const end of this.#waiting) end();
  }

  /** @returns resolves when nothing of it goes on any more */
  start(task: LiveTask, message: Message, options: SendOptions): Promise<void> {
    // A caller that starts a task has it, and can watch it, before anything happens.
    const work = new Promise<void>((resolve) => {
      setImmediate(() => resolve(this.#work(task, new Work(task, message), options)));
    });
    this.#busy.add(task);
    task.work = work;
    return work;
  }

  /** The call under way gets its answer; from now on it is also for the one who gave it. */
  goOn(task: LiveTask, message: Message, { signal }: SendOptions): void {
    const forget = follow(signal, task);
    void task.settled.then(forget);
    setImmediate(() => task.answer(message));
  }

  /** Notes whether the call of a task waits for an answer now, and tells it. */
  noteAsking(task: LiveTask): boolean {
    const isAsking = task.isAsking && task.isSettled;
    if (isAsking !== this.#asking.has(task)) {
      this.#asking[isAsking ? "add" : "delete"](task);
      this.#shares[isAsking ? "remove" : "add"](task.owner.ref);
      if (isAsking) this.#tellFreed();
    }
    return isAsking;
  }

  /** Ends a task as its owner wants. */
  async end(task: LiveTask): Promise<void> {
    task.isUnwanted = true;
    const cancel = (): void => this.#parts.finish(task, () => task.move("canceled"));
    if (!this.has(task)) return cancel();
    task.cancellation.abort(new GatewayError("cancelled", "The task was canceled."));
    await task.work;
    // It may have asked for something in this very moment.
    if (!task.isFinal) cancel();
  }

  /** Ends what waits for a message. */
  drain(): void {
    for (const { cancellation } of this.#asking) cancellation.abort(SHUTDOWN);
  }

  /** Ends everything, and waits until nothing of it goes on. */
  async close(): Promise<void> {
    const busy = [...this.#busy];
    for (const { cancellation } of busy) cancellation.abort(SHUTDOWN);
    await Promise.all(busy.map(async ({ work }) => work));
  }

  async #work(task: LiveTask, work: Work, options: SendOptions): Promise<void> {
    const dependencies = this.#parts.dependencies();
    const { isDraining } = this.#parts;
    const end = await callSkill(task, work, {
      dependencies,
      sent: options,
      skill: dependencies.skills.get(task.skill),
      works: this.#works,
      isDraining,
    });
    // A queue has it begun again by another replica.
    if (task.queued && isEndedByShutdown(end, isDraining())) task.isForeign = true;
    const { cancelTimeout } = dependencies.options;
    const last = isDraining() ? Math.min(cancelTimeout, LAST_MS) : cancelTimeout;
    const over = work.over && within(work.over, last);
    const finish = (): void =>
      this.#parts.finish(task, () => task.move(end.state, end.parts, end.metadata));
    // A client that cancels a task wants to know that nothing of it goes on; a shutdown has no time, but its last step waits.
    const isHurried = isDraining();
    if (isHurried) finish();
    if (over) await over;
    this.release(task);
    if (!isHurried) finish();
    task.rest();
  }
}

function isEndedByShutdown({ state, metadata }: WorkEnd, isDraining: boolean): boolean {
  return isDraining && state === "failed" && metadata?.["code"] === SHUTDOWN.code;
}
