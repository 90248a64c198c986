import type { Json, Principal, Progress } from "propylon";
import { setTimer } from "propylon/kit";
import type {
  InputRequest,
  TaskHandle,
  TaskOrigin,
  TaskOutcome,
  TaskService,
} from "propylon/plugins/tasks";
import type { Forward } from "../view/forward.ts";

/** When and where a call becomes a task. */
export interface TaskPlan {
  readonly tasks: TaskService;
  readonly forward: Forward;
  readonly principal: Principal;
  /** Milliseconds. */
  readonly after: number;
}

/** A call, as far as its task goes. */
export interface TaskCall {
  /** Whether its client waits for an answer, and nothing else was said. */
  readonly isWaiting: boolean;
  /** What it waits for. */
  readonly questions: ReadonlyMap<string, InputRequest>;
  /** Its client gets the task in place of the answer. */
  announce(task: TaskHandle, pollInterval: number): void;
  /** What it asked meanwhile can be told. */
  flush(): void;
  /** Its client answered some of its questions. */
  settle(responses: Json): void;
  /** Ends it. */
  interrupt(reason: unknown): void;
}

/** A call that becomes a task if it takes long. */
export class CallTask {
  readonly #call: TaskCall;
  readonly #plan: TaskPlan;
  #timer: NodeJS.Timeout | undefined;
  #task: TaskHandle | undefined;
  #beginning: Promise<void> | undefined;

  constructor(call: TaskCall, plan: TaskPlan) {
    this.#call = call;
    this.#plan = plan;
  }

  /** Counts its time, from now. */
  start(): void {
    this.stop();
    if (this.#task) return;
    this.#timer = setTimer(() => void this.begin(), this.#plan.after);
    this.#timer.unref();
  }

  /** It is over, or waits for its client. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Whether it is a task. */
  get isTask(): boolean {
    return this.#task !== undefined;
  }

  /** Whether questions go to the task, or wait for it. */
  get takesQuestions(): boolean {
    return this.#beginning !== undefined || this.isTask;
  }

  /** Becomes a task, if its client still waits when it is stored; without room or store all stays as it is. Never rejects. */
  async begin(origin?: TaskOrigin): Promise<void> {
    if (!this.#call.isWaiting) return;
    this.#beginning = this.#begin(origin);
    await this.#beginning;
    this.#beginning = undefined;
    this.#call.flush();
  }

  /** Its server began a task for it, so that it will take long; the task it becomes goes on with that after a restart. */
  async keep(origin: TaskOrigin): Promise<void> {
    this.stop();
    await this.#beginning;
    if (this.#task) await this.#task.goesOn(origin);
    else await this.begin(origin);
  }

  async #begin(origin: TaskOrigin | undefined): Promise<void> {
    const task = await this.#store(origin);
    // It may have ended, or lost its client.
    if (task && !this.#call.isWaiting) task.drop();
    else if (task) {
      this.#task = task;
      this.#call.announce(task, this.#plan.tasks.pollInterval);
    }
  }

  report(progress: Progress): void {
    this.#task?.report(progress);
  }

  /** Tells what it waits for. */
  ask(): void {
    if (!this.#task) return;
    const asked = [...this.#call.questions].map(
      ([key, { method, params }]) => [key, { method, params }] as const,
    );
    this.#task.ask(new Map(asked));
  }

  /** Gives its end. */
  finish(outcome: TaskOutcome): void {
    void this.#task?.finish(outcome);
  }

  async #store(origin: TaskOrigin | undefined): Promise<TaskHandle | undefined> {
    const { tasks, forward, principal } = this.#plan;
    try {
      return await tasks.calls.begin({
        server: forward.route.server.name,
        name: forward.route.name,
        principal,
        origin,
        cancel: (reason) => this.#call.interrupt(reason),
        answer: (responses) => this.#call.settle(responses),
      });
    } catch {
      return undefined;
    }
  }
}
