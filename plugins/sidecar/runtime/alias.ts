import type { Message, SendMessageRequest, StreamEvent, Task } from "propylon/contract";
import { scopedId } from "../message/owner.ts";
import type { SubmittedTask } from "../message/task.ts";

type Ids = Readonly<Record<string, unknown>>;

/**
 * One task under the names that the runtime knows it by. It sees one client, the sidecar, and keeps tasks and conversations by their
 * ids: with the ids of callers it would go on with what another owner told it.
 */
export class Alias {
  /** What the runtime is sent. */
  readonly request: SendMessageRequest;
  /** The id that it answers with. */
  readonly id: string;
  /** What the owner calls what the runtime calls so. */
  readonly #names: ReadonlyMap<string, string>;

  /** @param before the task that it goes on with */
  constructor({ id, owner, request }: SubmittedTask, before: Task | undefined) {
    const { contextId, referenceTaskIds = [] } = request.message;
    const scope = (each: string): string => scopedId({ id: each, owner });
    const known = [id, contextId, before?.contextId, ...referenceTaskIds];
    this.id = scope(id);
    this.#names = new Map(
      known.flatMap((each) => (each === undefined ? [] : [[scope(each), each] as const])),
    );
    // What came without an owner is the sender's own business, and forwarded as it is.
    this.request =
      owner === undefined ? withId(request, id) : scopeRequest(request, id, before, scope);
  }

  task(task: Task): Task {
    const { status, history } = task;
    return {
      ...this.#ids(task),
      status: this.#status(status),
      ...(history && { history: history.map((each) => this.#ids(each)) }),
    };
  }

  event(event: StreamEvent): StreamEvent {
    if ("task" in event) return { ...event, task: this.task(event.task) };
    if ("artifactUpdate" in event)
      return { ...event, artifactUpdate: this.#ids(event.artifactUpdate) };
    const update = this.#ids(event.statusUpdate);
    return { ...event, statusUpdate: { ...update, status: this.#status(update.status) } };
  }

  #status(status: Task["status"]): Task["status"] {
    return { ...status, ...(status.message && { message: this.#ids(status.message) }) };
  }

  /** Texts are left alone: only what stands for a task or a conversation is renamed. */
  #ids<T extends Ids>(value: T): T {
    const renamed: Record<string, unknown> = { ...value };
    for (const member of ["id", "taskId", "contextId"])
      if (typeof value[member] === "string") renamed[member] = this.#nameOf(value[member]);
    const { referenceTaskIds } = value as { referenceTaskIds?: readonly string[] };
    if (referenceTaskIds)
      renamed["referenceTaskIds"] = referenceTaskIds.map((each) => this.#nameOf(each));
    return renamed as T;
  }

  #nameOf(alias: string): string {
    return this.#names.get(alias) ?? alias;
  }
}

function scopeRequest(
  request: SendMessageRequest,
  id: string,
  before: Task | undefined,
  scope: (id: string) => string,
): SendMessageRequest {
  const { contextId, referenceTaskIds, ...message } = request.message;
  const context = contextOf(id, contextId || undefined, before);
  const scoped: Message = {
    ...message,
    taskId: scope(id),
    ...(context !== undefined && { contextId: scope(context) }),
    ...(referenceTaskIds && { referenceTaskIds: referenceTaskIds.map(scope) }),
  };
  return { ...request, message: scoped };
}

/**
 * The conversation as its owner calls it: one that nobody named is called like its first task, for an id that the runtime made up
 * could not be told from another owner's. A task that goes on is in its own, whatever the runtime calls that.
 */
function contextOf(id: string, asked: string | undefined, before: Task | undefined) {
  if (!before) return asked ?? id;
  return asked === before.contextId ? undefined : asked;
}

/** A message without a messageId still has a task id, which the runtime answers with. */
function withId(request: SendMessageRequest, id: string): SendMessageRequest {
  const { message } = request;
  if ((message.taskId ?? "") !== "" || message.messageId === id) return request;
  return { ...request, message: { ...message, taskId: id } };
}
