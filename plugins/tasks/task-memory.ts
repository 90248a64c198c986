import { GatewayError } from "propylon";
import { setTimer } from "propylon/kit";
import { sizeOfEnd, type TaskEnd } from "./end.ts";
import { JobMemory } from "./jobs/job-memory.ts";
import type { FinalState, OwnTask } from "./own-task.ts";
import type { TaskLimits, TaskTable } from "./service.ts";

/** Tasks in memory, within their bounds. */
export class TaskMemory extends JobMemory<OwnTask> {
  readonly #onForget: (task: OwnTask) => void;
  readonly #refused = new Map<keyof TaskLimits, number>();
  #limits: TaskLimits;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: TaskLimits, onForget: (task: OwnTask) => void) {
    super();
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
    return { running: this.live, kept: this.size, refused: this.#refused };
  }

  get running(): readonly OwnTask[] {
    return [...this].filter(({ isOver }) => !isOver);
  }

  /** @throws {GatewayError} `rate_limited` when there is no room for one more */
  makeRoom(owner: OwnTask["owner"]): void {
    const { maxRunning, maxRunningEach, maxTasks, maxTasksEach, evicts } = this.#limits;
    if (this.live >= maxRunning) throw this.#refuse("maxRunning", "running");
    if (this.liveOf(owner).jobs >= maxRunningEach) throw this.#refuse("maxRunningEach", "running");
    const isFull = this.size >= maxTasks;
    if (!isFull && this.shares.all.of(owner.ref) < maxTasksEach) return;
    const surplus = evicts ? this.surplus(this.shares.all, owner.ref) : undefined;
    if (!surplus) throw this.#refuse(isFull ? "maxTasks" : "maxTasksEach", "kept");
    this.forget(surplus);
  }

  /** Takes in one at work, or one that has ended. */
  override add(task: OwnTask): void {
    super.add(task);
    if (task.isOver) this.end(task);
  }

  /** Whether there is room for a result. */
  takes({ ref }: OwnTask["owner"], end: TaskEnd | undefined): boolean {
    const { evicts, maxTaskSize, maxTotalSize, maxTotalSizeEach } = this.#limits;
    const size = sizeOfEnd(end);
    if (size > maxTaskSize) return this.#count("maxTaskSize");
    if (evicts) return true;
    if (this.bytes + size > maxTotalSize) return this.#count("maxTotalSize");
    return this.shares.bytes.of(ref) + size <= maxTotalSizeEach || this.#count("maxTotalSizeEach");
  }

  /** Gives one its final state, and tells of it when it counts. */
  settle(task: OwnTask, final: FinalState): void {
    task.settle(final);
    this.end(task);
    task.tell();
    if (this.#limits.evicts) this.#shrink();
  }

  override end(task: OwnTask): void {
    super.end(task);
    if (!this.#timer) this.#schedule();
  }

  /** Drops one for good. @param isStored it is this replica's to remove from the store */
  forget(task: OwnTask, isStored = true): void {
    if (this.drop(task) && isStored) this.#onForget(task);
  }

  /** Drops what is beyond the bounds, the oldest first. */
  trim(): void {
    for (const task of this.ended) {
      if (this.size <= this.#limits.maxTasks) break;
      this.forget(task);
    }
    this.#shrink();
  }

  override clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    super.clear();
  }

  /** Results beyond the bytes allowed are dropped, oldest first; the last one stays, or nobody could fetch a large one. */
  #shrink(): void {
    for (const task of this.ended) {
      if (this.bytes <= this.#limits.maxTotalSize || this.ended.size <= 1) return;
      if (task.end) this.forget(task);
    }
  }

  /** One timer for all: the time of the one that ended first. */
  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const [first] = this.ended;
    if (!first) return;
    const left = Date.parse(first.endedAt!) + this.#limits.ttl - Date.now();
    this.#timer = setTimer(() => this.#sweep(), Math.max(1, left));
    this.#timer.unref();
  }

  #sweep(): void {
    const before = Date.now() - this.#limits.ttl;
    for (const task of this.ended) {
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
    const count = what === "running" ? this.live : this.size;
    return new GatewayError("rate_limited", `${count} tasks are ${what} already.`, {
      hint: "Wait for one of them, or cancel it.",
      headers: { "retry-after": "5" },
    });
  }
}
