import type * as Wire from "@a2a-js/sdk";
import type { A2ARequestHandler } from "@a2a-js/sdk/server";
import { isGatewayError, type Json } from "propylon";
import { STATES, type StreamEvent, type Task } from "propylon/contract";
import type { SharedTask, TaskService } from "propylon/plugins/tasks";
import type { ListedTask, RunningTask, RuntimeService, SendOptions } from "../service.ts";
import { toStandardError } from "./errors.ts";
import { toAgentTask } from "./foreign-task.ts";
import { EventQueue } from "./event-queue.ts";
import { fillPage, pageOf } from "./list.ts";
import {
  eventToStandard,
  messageFromStandard,
  messageToStandard,
  stateFromStandard,
  taskToStandard,
} from "../contract/standard.ts";
import type { Pushes } from "./pushes.ts";
import { checkHistoryLength, checkRequest, type CheckedRequest } from "./request.ts";
import type { StandardCallContext } from "./call-context.ts";

type Stream = AsyncGenerator<Wire.StreamResponse, void, undefined>;

/** What outlives a request. */
export interface HandlerDependencies {
  readonly runtime: RuntimeService;
  /** Tasks that were begun through other faces. */
  readonly tasks: TaskService | undefined;
  readonly pushes: Pushes;
  /** Streams of tasks that wait for somebody, so that a shutdown can end them. */
  readonly subscriptions: Set<EventQueue>;
}

/** A task of A2A, or one of another kind. */
type Found =
  | { readonly task: Task; readonly shared?: undefined }
  | { readonly task?: undefined; readonly shared: SharedTask };

/** The operations of A2A 1.0 (section 3.1) on the tasks of the runtime, for one request. */
export class StandardRequestHandler implements A2ARequestHandler {
  readonly #context: StandardCallContext;
  readonly #dependencies: HandlerDependencies;
  /** Why the operation failed, if it did. */
  fault: Error | undefined;

  constructor(context: StandardCallContext, dependencies: HandlerDependencies) {
    this.#context = context;
    this.#dependencies = dependencies;
  }

  getAgentCard(): Promise<Wire.AgentCard> {
    return Promise.resolve(this.#context.card);
  }

  /** There is one card for everybody. */
  getAuthenticatedExtendedAgentCard(): Promise<Wire.AgentCard> {
    return this.#answer(() => {
      throw new this.#context.sdk.UnsupportedOperationError("The agent has no extended card.");
    });
  }

  sendMessage(request: Wire.SendMessageRequest): Promise<Wire.Message | Wire.Task> {
    return this.#answer(async () => {
      const { sdk } = this.#context;
      const { task: first, running } = await this.#send(request);
      const { returnImmediately, historyLength } = request.configuration ?? {};
      const task = returnImmediately ? first : await running.settled;
      return running.reply && STATES[task.status.state].isFinal
        ? sdk.Message.fromJSON(messageToStandard(running.reply))
        : this.#show(task, historyLength);
    });
  }

  async *sendMessageStream(request: Wire.SendMessageRequest): Stream {
    const events = new EventQueue({ stopsWaiting: true });
    yield* this.#stream(events, request.configuration?.historyLength, async () => {
      const { running } = await this.#send(request);
      return running.watch((event) => events.push(event));
    });
  }

  async *resubscribe({ id }: Wire.SubscribeToTaskRequest): Stream {
    const events = new EventQueue({ stopsWaiting: false });
    yield* this.#stream(events, undefined, () => this.#subscribe(events, id));
  }

  getTask({ id, historyLength }: Wire.GetTaskRequest): Promise<Wire.Task> {
    return this.#answer(async () => {
      checkHistoryLength(this.#context.sdk, historyLength);
      const { task, shared } = await this.#findAnywhere(id);
      return this.#show(shared ? toAgentTask(shared) : task, historyLength);
    });
  }

  listTasks(request: Wire.ListTasksRequest): Promise<Wire.ListTasksResponse> {
    return this.#answer(async () => {
      const { historyLength, includeArtifacts = false } = request;
      checkHistoryLength(this.#context.sdk, historyLength);
      const page = pageOf(await this.#list(request), request);
      const filled = await fillPage(page, async (listed) => {
        const task = await listed.whole();
        return task && shorten(includeArtifacts ? task : { ...task, artifacts: [] }, historyLength);
      });
      return { ...page, ...filled, tasks: filled.tasks.map((task) => this.#show(task)) };
    });
  }

  cancelTask({ id }: Wire.CancelTaskRequest): Promise<Wire.Task> {
    const { sdk, principal } = this.#context;
    return this.#answer(async () => {
      const { shared } = await this.#findAnywhere(id);
      if (shared) return this.#cancelForeign(shared);
      try {
        return this.#show(await this.#dependencies.runtime.cancel(id, principal));
      } catch (error) {
        if (!isGatewayError(error) || error.code !== "exists") throw error;
        throw new sdk.TaskNotCancelableError(error.message);
      }
    });
  }

  createTaskPushNotificationConfig(
    config: Wire.TaskPushNotificationConfig,
  ): Promise<Wire.TaskPushNotificationConfig> {
    return this.#answer(async () =>
      this.#pushes.add(config, await this.#find(config.taskId), this.#context),
    );
  }

  getTaskPushNotificationConfig({
    taskId,
    id,
  }: Wire.GetTaskPushNotificationConfigRequest): Promise<Wire.TaskPushNotificationConfig> {
    return this.#answer(async () => {
      const configs = await this.#pushes.of(await this.#find(taskId), this.#context);
      const config = configs.find((candidate) => candidate.id === id);
      if (config) return config;
      throw new this.#context.sdk.TaskNotFoundError(
        "The task has no such push notification config.",
      );
    });
  }

  listTaskPushNotificationConfigs({
    taskId,
  }: Wire.ListTaskPushNotificationConfigsRequest): Promise<Wire.ListTaskPushNotificationConfigsResponse> {
    return this.#answer(async () => {
      const configs = [...(await this.#pushes.of(await this.#find(taskId), this.#context))];
      return { configs, nextPageToken: "" };
    });
  }

  deleteTaskPushNotificationConfig({
    taskId,
    id,
  }: Wire.DeleteTaskPushNotificationConfigRequest): Promise<void> {
    return this.#answer(async () =>
      this.#pushes.remove(id, await this.#find(taskId), this.#context),
    );
  }

  /** @throws {A2AError} `PushNotificationNotSupportedError`, before anything is said about the task */
  get #pushes(): Pushes {
    const { pushes } = this.#dependencies;
    if (pushes.isEnabled) return pushes;
    throw new this.#context.sdk.PushNotificationNotSupportedError(
      "The agent sends no push notifications.",
    );
  }

  async #send(request: Wire.SendMessageRequest): Promise<{ running: RunningTask; task: Task }> {
    const { sdk, card, extensions, principal, meta } = this.#context;
    checkRequest(sdk, request, card, extensions);
    const config = request.configuration?.taskPushNotificationConfig;
    const target = request.message.taskId === "" ? undefined : await this.#findTarget(request);
    const message = messageFromStandard(sdk.Message.toJSON(request.message) as Json);
    const { metadata } = request;
    const send = (prepare?: SendOptions["prepare"]): Promise<RunningTask> =>
      this.#dependencies.runtime.send(message, { principal, meta, metadata, prepare });
    const running = await (config
      ? this.#pushes.send({ config, target, principal }, send)
      : send());
    return { running, task: running.task };
  }

  /** The task that a message names: what it says of it must be true (A2A 1.0, 3.4.3), and it must be there. */
  async #findTarget({ message: { taskId, contextId } }: CheckedRequest): Promise<Task> {
    this.#checkId(taskId);
    const target = await this.#dependencies.runtime.look(taskId, this.#context.principal);
    if (contextId !== "" && target.contextId !== contextId)
      throw new this.#context.sdk.RequestMalformedError(
        "message.contextId is not the context of the task that message.taskId names.",
      );
    return target;
  }

  async #subscribe(events: EventQueue, id: string): Promise<() => void> {
    const { sdk, principal } = this.#context;
    const { runtime, subscriptions } = this.#dependencies;
    this.#checkId(id);
    const task = await runtime.look(id, principal);
    if (STATES[task.status.state].isFinal)
      throw new sdk.UnsupportedOperationError("The task has ended; read it with GetTask.");
    // A task that waits goes on with the next message, in a new turn: the stream lives until its end (A2A 1.0, 3.1.6).
    const unwatch = await runtime.follow(
      id,
      principal,
      (event) => events.push(event),
      (error) => events.fail(error),
    );
    subscriptions.add(events);
    return () => {
      unwatch();
      subscriptions.delete(events);
    };
  }

  /** Hands out what is pushed into `events`, until its end or that of the reader. */
  async *#stream(
    events: EventQueue,
    historyLength: number | undefined,
    open: () => (() => void) | Promise<() => void>,
  ): Stream {
    const { signal } = this.#context.gone;
    const leave = (): void => {
      if (isGatewayError(signal.reason)) events.fail(signal.reason);
      else void events.return();
    };
    signal.addEventListener("abort", leave);
    let close: (() => void) | undefined;
    try {
      close = await open();
      for await (const event of events) yield this.#render(event, historyLength);
    } catch (error) {
      throw this.#explain(error);
    } finally {
      close?.();
      signal.removeEventListener("abort", leave);
    }
  }

  /** At whichever replica it is. @throws {A2AError} `RequestMalformedError` without an id; {GatewayError} `not_found` */
  #find(id: string): Promise<Task> {
    this.#checkId(id);
    return this.#dependencies.runtime.look(id, this.#context.principal);
  }

  #checkId(id: string): void {
    const { sdk } = this.#context;
    if (id.trim() === "") throw new sdk.RequestMalformedError("The id of the task is required.");
  }

  /** The task of an id, also one of another replica, or one that is not a task of A2A. */
  async #findAnywhere(id: string): Promise<Found> {
    this.#checkId(id);
    try {
      return { task: await this.#dependencies.runtime.look(id, this.#context.principal) };
    } catch (thrown) {
      const isUnknown = isGatewayError(thrown) && thrown.code === "not_found";
      const other = isUnknown
        ? await this.#dependencies.tasks?.find(id, this.#context.principal)
        : undefined;
      if (other) return { shared: other };
      throw thrown;
    }
  }

  async #cancelForeign(task: SharedTask): Promise<Wire.Task> {
    const { sdk } = this.#context;
    if (task.endedAt !== undefined)
      throw new sdk.TaskNotCancelableError(`The task is ${task.state} already.`);
    await task.cancel();
    return this.#show(toAgentTask(task));
  }

  async #list({
    contextId,
    status,
    statusTimestampAfter,
  }: Wire.ListTasksRequest): Promise<readonly ListedTask[]> {
    const { sdk, principal } = this.#context;
    const isAny = status === sdk.TaskState.TASK_STATE_UNSPECIFIED;
    const state = isAny ? undefined : stateFromStandard(sdk.taskStateToJSON(status));
    if (!isAny && state === undefined)
      throw new sdk.RequestMalformedError("status is not a state of a task.");
    if (statusTimestampAfter !== undefined && Number.isNaN(Date.parse(statusTimestampAfter)))
      throw new sdk.RequestMalformedError("statusTimestampAfter is not an ISO 8601 time.");
    const filter = { contextId: contextId || undefined, state, since: statusTimestampAfter };
    return this.#dependencies.runtime.listAll(filter, principal);
  }

  #show(task: Task, historyLength?: number): Wire.Task {
    return this.#context.sdk.Task.fromJSON(taskToStandard(shorten(task, historyLength)));
  }

  #render(event: StreamEvent, historyLength: number | undefined): Wire.StreamResponse {
    const shown = "task" in event ? { task: shorten(event.task, historyLength) } : event;
    return this.#context.sdk.StreamResponse.fromJSON(eventToStandard(shown));
  }

  async #answer<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#explain(error);
    }
  }

  #explain(thrown: unknown): Error {
    return (this.fault = toStandardError(this.#context.sdk, thrown));
  }
}

/** At most the newest messages of the history; all when nothing is said (A2A 1.0, 3.2.4). */
function shorten(task: Task, historyLength: number | undefined): Task {
  if (historyLength === undefined || !task.history) return task;
  return { ...task, history: historyLength === 0 ? [] : task.history.slice(-historyLength) };
}
