import { defineService, type GatewayError, type Json, type Principal } from "propylon";
import type { Abortable } from "propylon/internal";
import type { Message, StreamEvent, Task, TaskState } from "propylon/contract";

declare module "propylon/kit" {
  interface CallSources {
    /** A message of A2A. */
    a2a: true;
  }
}

/** Whose something is. */
export type TaskOwner = Pick<Principal, "ref">;

/** How a message is handed to the runtime. */
export interface SendOptions {
  readonly principal: Principal;
  /**
   * Id of the task to make, for callers that choose it (contract v1). A task of this principal that has it already is
   * continued when it waits for input; the same message again, by its id, starts nothing new and meets the task that is there.
   * Without it the message's `taskId` must name a task that is there, and a new task gets an id of ours (A2A 1.0).
   */
  readonly id?: string | undefined;
  /** Id of the skill; default: `metadata.skill` of the message or the request, else the first. */
  readonly skill?: string | undefined;
  /** Whether the message answers a task that waits: without that task it fails, in place of being the first of a new one. */
  readonly continues?: boolean | undefined;
  /** `_meta` for the call: trace context (`traceparent`, `tracestate`, `baggage`). */
  readonly meta?: Json | undefined;
  /** Metadata of the request around the message. */
  readonly metadata?: Json | undefined;
  /**
   * Ends the task when it aborts, for callers that would not come back for it (contract v1). One who sends the message again all
   * the same has it worked on again: nobody has an answer yet.
   */
  readonly signal?: Abortable | undefined;
  /**
   * Called for a message that begins a task, or is handed to a queue, before anybody works on it or hears of it. When it rejects the
   * message is not taken. For one that meets a task which is there it is not called.
   */
  readonly prepare?: ((task: Pick<RunningTask, "id" | "task">) => Promise<void>) | undefined;
}

/** A task under way; the task goes on whether or not anybody looks at it. */
export interface RunningTask {
  readonly id: string;
  /** The task as it is now. Immutable; a change makes another. */
  readonly task: Task;
  /**
   * What the skill answered when it had no more than a word to say, once settled: A2A 1.0 may answer with it in place of a task. The
   * task is there all the same, with it as its artifact.
   */
  readonly reply?: Message | undefined;
  /** Resolves with the task once it is final or waits for somebody. Never rejects. */
  readonly settled: Promise<Task>;
  /**
   * Tells of every event from now on, the first one with the whole task, in order; ends on its own with a final or interrupted state.
   * @returns stops telling
   */
  watch(listener: (event: StreamEvent) => void): () => void;
}

/** A task of a list. */
export interface ListedTask extends Pick<Task, "id" | "status"> {
  /** With everything that is in the store of it; `undefined`: it is gone meanwhile. */
  whole(): Promise<Task | undefined>;
}

/** Which tasks to list. */
export interface TaskFilter {
  readonly contextId?: string | undefined;
  readonly state?: TaskState | undefined;
  /** Only tasks whose status is not older, ISO 8601. */
  readonly since?: string | undefined;
}

/** The tasks of this runtime. A principal sees and touches only its own: another's is `not_found`. */
export interface RuntimeService {
  /**
   * Starts a task with a message, or continues one.
   * @throws {GatewayError} `not_found` for a task or skill that is not there; `exists` for a message to a task that takes none, being
   * final or at work; `draining`; `rate_limited` when too many tasks are under way
   */
  send(message: Message, options: SendOptions): Promise<RunningTask>;
  /**
   * A task of this replica.
   * @throws {GatewayError} `not_found`
   */
  get(id: string, principal: TaskOwner): RunningTask;
  /**
   * A task as it is now, at whichever replica it is. Once it is settled this replica has it, too.
   * @throws {GatewayError} `not_found`; `unavailable` for a task that is not here, while the store is away
   */
  look(id: string, principal: TaskOwner): Promise<Task>;
  /** The newest first. */
  list(filter: TaskFilter, principal: Principal): readonly Task[];
  /**
   * The tasks of a principal at all replicas, in no order.
   * @throws {GatewayError} `unavailable` while the store is away
   */
  listAll(filter: TaskFilter, principal: TaskOwner): Promise<readonly ListedTask[]>;
  /**
   * Tells of every event of a task, the first with the whole task, at whichever replica it is at work; goes on when the
   * task has waited for somebody.
   * @param lost its replica tells nothing more
   * @returns stops telling
   * @throws {GatewayError} `not_found`; `unavailable` for a task that is not here, while the store is away
   */
  follow(
    id: string,
    principal: TaskOwner,
    listener: (event: StreamEvent) => void,
    lost: (error: GatewayError) => void,
  ): Promise<() => void>;
  /**
   * Ends a task, at whichever replica it is; resolves when it has ended.
   * @throws {GatewayError} `not_found`; `exists` when it is final already; `unavailable` when its replica does not answer
   */
  cancel(id: string, principal: TaskOwner): Promise<Task>;
  /** Tells of every event of every task, e.g. for push notifications. @returns stops telling */
  watchAll(listener: (task: Task, event: StreamEvent, owner: TaskOwner) => void): () => void;
  /** Tells of every task that this replica keeps no longer. @returns stops telling */
  watchDropped(listener: (id: string, owner: TaskOwner) => void): () => void;
}

/** Service token of the a2a plugin. */
export const Runtime = defineService<RuntimeService>("a2a-runtime");
