import { defineService, type GatewayError } from "propylon";
import type { Message, SendMessageRequest, StreamEvent, Task } from "propylon/contract";
import type { Ending } from "./execution/ending.ts";
import type { Worker } from "./execution/worker.ts";

/** Says whose task it is. */
export interface OwnerOptions {
  /** `ref` of the principal who handed it in. Default: it was handed in without an owner. */
  readonly owner?: string | undefined;
}

/** What comes with a task that is handed in. */
export interface SubmitOptions extends OwnerOptions {
  /** Agent that does the work; default: the one this gateway is configured for. */
  readonly agent?: string | undefined;
  /** Headers of the queue's message: trace context (`traceparent`, `tracestate`, `baggage`) and whatever the agent's side reads. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** How a task ended. */
export interface TaskResult {
  readonly task: Task;
  /** Who handed it in, where that was said. */
  readonly owner: string | undefined;
}

/**
 * A durable queue of tasks and their results. A task is named by its id and its owner: callers choose ids, and the same id of two
 * owners is two tasks.
 */
export interface TaskQueueService {
  /**
   * Hands a task in; resolves when the queue has stored it. The same id again starts nothing new while its result is kept.
   * @param message one without ids gets a `taskId`
   * @throws {GatewayError} `too_large`; `upstream_error` while the queue cannot be reached: whether it was stored is not known
   * then, and handing it in again under the same id is safe
   */
  submit(
    message: Message | SendMessageRequest,
    options?: SubmitOptions,
  ): Promise<{ readonly id: string }>;
  /**
   * The result of a task. `undefined`: there is none yet, none any more, or nobody handed such a task in.
   * @param options.wait how long to wait for it, in milliseconds; default 0
   * @throws {GatewayError} `upstream_error` while the queue cannot be reached
   */
  result(
    id: string,
    options?: OwnerOptions & { readonly wait?: number; readonly signal?: AbortSignal },
  ): Promise<TaskResult | undefined>;
  /** Tells of what happens to a task from now on; best effort, the result is what counts. @returns stops telling */
  watch(id: string, listener: (event: StreamEvent) => void, options?: OwnerOptions): () => void;
}

/** Service token of the sidecar plugin. */
export const TaskQueue = defineService<TaskQueueService>("task-queue");

declare module "propylon" {
  interface GatewayHooks {
    /** The sidecar's worker came to another state; `reason` says why it takes no tasks, `failure` is set when it `failed`. */
    "sidecar:state": (
      state: Worker["state"],
      reason: string | undefined,
      failure: GatewayError | undefined,
    ) => void;
    /** A delivery of a task ended. `owner` is the `ref` of the principal that handed it in, where that is known. */
    "sidecar:task": (id: string, outcome: Ending["outcome"], owner: string | undefined) => void;
  }
}
