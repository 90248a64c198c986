import { GatewayError } from "propylon";
import { FairQuota, setTimer } from "propylon/kit";
import { sizeOfEnd, type TaskEnd } from "./end.ts";
import type { FinalState, OwnTask } from "./own-task.ts";
import type { TaskLimits, TaskTable } from "./service.ts";

/** Tasks in memory, within their bounds. */
export class TaskMemory {
  readonly #kept = new Map<string, OwnTask>();
  readonly #running = new Set<OwnTask>();
  /** In the order in which they ended. */
  readonly #ended = new Set<OwnTask>();
  readonly #shares = { tasks: new FairQuota(), running: new FairQuota(), bytes: new FairQuota() };
  readonly #onForget: (task: OwnTask) => void;
  #limits: TaskLimits;
  #bytes = 0;
  readonly #refused = new Map<keyof TaskLimits, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: TaskLimits, onForget: (task: OwnTask) => void) {
    this.#limits = limits;
    this.#onForget = onForget;
  }

  get limits(): TaskLimits {
    return this.#limits;
  }

  set limits(limits: TaskLimits) {
    this.#limits = limits;
    this.#schedule();
  }

  get counts(): TaskTable["counts"] {
    return { running: this.#running.size, kept: this.#kept.size, refused: this.#refused };
  }

  get running(): readonly OwnTask[] {
    return [...this.#running];
  }

  get(id: string): OwnTask | undefined {
    return this.#kept.get(id);
  }

  has(task: OwnTask): boolean {
    return this.#kept.get(task.id) === task;
  }

  /** @throws {GatewayError} `rate_limited` when there is no room for one more */
  makeRoom(owner: string): void {
    const { maxRunning, maxRunningEach, maxTasks, maxTasksEach, evicts } = this.#limits;
    const { tasks, running } = this.#shares;
    if (this.#running.size >= maxRunning) throw this.#refuse("maxRunning", "running");
    if (running.of(owner) >= maxRunningEach) throw this.#refuse("maxRunningEach", "running");
    const isFull = this.#kept.size >= maxTasks;
    if (!isFull && tasks.of(owner) < maxTasksEach) return;
    const surplus = evicts ? this.#surplus(owner) : undefined;
    if (!surplus) throw this.#refuse(isFull ? "maxTasks" : "maxTasksEach", "kept");
    this.forget(surplus);
  }

  /** Takes in one at work, or one that has ended. */
  add(task: OwnTask): void {
    this.#kept.set(task.id, task);
    this.#shares.tasks.add(task.owner);
    if (task.isOver) return this.#file(task);
    this.#running.add(task);
    this.#shares.running.add(task.owner);
  }

  /** Whether there is room for a result. */
  takes(owner: string, end: TaskEnd | undefined): boolean {
    const { evicts, maxTaskSize, maxTotalSize, maxTotalSizeEach } = this.#limits;
    const size = sizeOfEnd(end);
    if (size > maxTaskSize) return this.#count("maxTaskSize");
    if (evicts) return true;
    if (this.#bytes + size > maxTotalSize) return this.#count("maxTotalSize");
    const ofOne = this.#shares.bytes.of(owner) + size;
    return ofOne <= maxTotalSizeEach || this.#count("maxTotalSizeEach");
  }

  /** Gives one its final state. */
  settle(task: OwnTask, final: FinalState): void {
    this.#stop(task);
    task.settle(final);
    this.#file(task);
    if (this.#limits.evicts) this.#shrink();
  }

  /** Drops one for good. @param isStored it is this gateway's to remove from the store */
  forget(task: OwnTask, isStored = true): void {
    if (!this.#kept.delete(task.id)) return;
    this.#stop(task);
    this.#shares.tasks.remove(task.owner);
    if (this.#ended.delete(task)) {
      const size = sizeOfEnd(task.end);
      this.#bytes -= size;
      this.#shares.bytes.remove(task.owner, size);
    }
    if (isStored) this.#onForget(task);
  }

  /** Drops what is beyond the bounds, the oldest first. */
  trim(): void {
    for (const task of this.#ended) {
      if (this.#kept.size <= this.#limits.maxTasks) break;
      this.forget(task);
    }
    this.#shrink();
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#kept.clear();
    this.#running.clear();
    this.#ended.clear();
  }

  #stop(task: OwnTask): void {
    if (this.#running.delete(task)) this.#shares.running.remove(task.owner);
  }

  #file(task: OwnTask): void {
    const size = sizeOfEnd(task.end);
    this.#ended.add(task);
    this.#bytes += size;
    this.#shares.bytes.add(task.owner, size);
    if (!this.#timer) this.#schedule();
  }

  /** The oldest that ended, of the one with the most, of those that have any. */
  #surplus(newcomer: string): OwnTask | undefined {
    const isLargest = this.#shares.tasks.largestWith(newcomer);
    let oldest: OwnTask | undefined;
    for (const task of this.#ended) {
      if (isLargest(task.owner)) return task;
      oldest ??= task;
    }
    return oldest;
  }

  /** Results beyond the bytes allowed are dropped, oldest first; the last one stays, or nobody could fetch a large one. */
  #shrink(): void {
    for (const task of this.#ended) {
      if (this.#bytes <= this.#limits.maxTotalSize || this.#ended.size <= 1) return;
      if (task.end) this.forget(task);
    }
  }

  /** One timer for all: the time of the one that ended first. */
  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const [first] = this.#ended;
    if (!first) return;
    const left = Date.parse(first.endedAt!) + this.#limits.ttl - Date.now();
    this.#timer = setTimer(() => this.#sweep(), Math.max(1, left));
    this.#timer.unref();
  }

  #sweep(): void {
    const before = Date.now() - this.#limits.ttl;
    for (const task of this.#ended) {
      if (Date.parse(task.endedAt!) > before) break;
      this.forget(task);
    }
    this.#schedule();
  }

  /** Counts what finds no room. */
  #count(bound: keyof TaskLimits): false {
    this.#refused.set(bound, (this.#refused.get(bound) ?? 0) + 1);
    return false;
  }

  #refuse(bound: keyof TaskLimits, what: "running" | "kept"): GatewayError {
    this.#count(bound);
    const count = what === "running" ? this.#running.size : this.#kept.size;
    return new GatewayError("rate_limited", `${count} tasks are ${what} already.`, {
      hint: "Wait for one of them, or cancel it.",
      headers: { "retry-after": "5" },
    });
  }
}
