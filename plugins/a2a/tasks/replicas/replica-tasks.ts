import { GatewayError, isGatewayError } from "propylon";
import { FIRST_PROBLEM, LookupQuota } from "propylon/kit";
import { type KeptPrincipal, keptPrincipalSchema } from "propylon/internal";
import { type JobQuestion, JobQuestions } from "propylon/plugins/tasks";
import type { Store } from "propylon/store";
import {
  type Message,
  messageSchema,
  STATES,
  type StreamEvent,
  streamEventSchema,
  type Task,
  taskSchema,
} from "propylon/contract";
import { z } from "zod";
import { stateOf } from "../../contract/task.ts";
import type { TaskOwner } from "../../service.ts";
import { EventQueue } from "../../standard/event-queue.ts";
import { unknownTask } from "../task/refusals.ts";
import type { TaskRecord } from "../task/task-record.ts";

/** Tasks that are followed at other replicas at a time, and here for others: each takes a place among the questions of a replica. */
const FOLLOWS = { max: 300, maxOfOne: 150 };
const EVENTS = "events";

const followSchema = z.object({
  id: z.string(),
  /** `ref` of its owner, who is compared where it runs, too. */
  owner: z.string(),
});

const answerSchema = z.object({ message: messageSchema, sender: keptPrincipalSchema });

/** A task as it is now; absent behind an answer, which is delivered whatever comes of its task. */
const toldSchema = z.object({ task: taskSchema.optional() });

/** What another replica tells. */
type ToldTask = z.output<typeof toldSchema>;

/** What this replica does about tasks for others. */
export interface TaskHost {
  get(id: string, owner: TaskOwner): { readonly task: Task };
  cancel(id: string, owner: TaskOwner): Promise<Task>;
  /** Hands a message to the call that waits for it. */
  answer(message: Message, sender: KeptPrincipal): Promise<void>;
  /** Tells of every event of a task here, the first with the whole task. @returns stops telling */
  watch(id: string, owner: TaskOwner, listener: (event: StreamEvent) => void): () => void;
}

/** Tasks at work at other replicas. */
export class ReplicaTasks {
  readonly #store: Store;
  readonly #questions: JobQuestions<ToldTask>;
  readonly #follows = new LookupQuota("tasks of other replicas", FOLLOWS);
  readonly #followed = new LookupQuota("tasks of this replica", FOLLOWS);

  constructor(store: Store) {
    this.#store = store;
    this.#questions = new JobQuestions(store, toldSchema);
  }

  /** Answers what others ask about tasks at work here. @returns ends that */
  async serve(host: TaskHost): Promise<() => void> {
    if (!this.#store.shared) return () => {};
    const end = await this.#questions.serve((question) => reply(host, question));
    const followed = this.#followed;
    const endEvents = await this.#store.answer(EVENTS, async function* (body: unknown, signal) {
      const question = followSchema.parse(body, FIRST_PROBLEM);
      const leave = followed.take(question.owner);
      try {
        yield* eventsOf(host, question, signal);
      } finally {
        leave();
      }
    });
    return () => {
      end();
      void endEvents();
    };
  }

  /**
   * Tells of every event of a task that another replica works on.
   * @param lost that replica tells nothing more, although the task has not ended
   * @returns stops telling
   */
  follow(
    { owner, task, replica }: TaskRecord,
    listener: (event: StreamEvent) => void,
    lost: (error: GatewayError) => void,
  ): () => void {
    const gone = new AbortController();
    const question = { id: task.id, owner };
    const read = async (): Promise<void> => {
      for await (const told of this.#store.ask(replica, EVENTS, question, gone.signal)) {
        if (gone.signal.aborted) return;
        const event = streamEventSchema.parse(told, FIRST_PROBLEM);
        listener(event);
        const state = stateOf(event);
        if (state && STATES[state].isFinal) return;
      }
      throw silent();
    };
    this.#follows.run(owner, read).catch((error: unknown) => {
      if (!gone.signal.aborted) lost(isGatewayError(error) ? error : silent());
    });
    return () => gone.abort();
  }

  /** Hands a message to the call of a task that waits for it. @throws {GatewayError} `unavailable`; what the other replica says */
  async answer(record: TaskRecord, message: Message, sender: KeptPrincipal): Promise<void> {
    const body = { message: { ...message, taskId: record.task.id }, sender };
    await this.#ask(record, "answer", body);
  }

  /** A task as it is now. One whose replica cannot be asked, or has just ended it, is told as it was stored. */
  async look(record: TaskRecord): Promise<Task> {
    // It waits for a replica.
    if (record.replica === "") return record.task;
    const told = await this.#ask(record, "look").catch((): ToldTask => ({}));
    return told.task ?? record.task;
  }

  /** @throws {GatewayError} `exists` when it has ended meanwhile; `unavailable` when its replica does not answer */
  async cancel(record: TaskRecord): Promise<Task> {
    const { task } = await this.#ask(record, "cancel");
    if (task) return task;
    throw silent();
  }

  #ask(
    { owner, task, replica }: TaskRecord,
    verb: JobQuestion["verb"],
    body?: object,
  ): Promise<ToldTask> {
    const asker = { ref: owner, roles: [] };
    return this.#questions.ask(replica, { id: task.id, asker, verb, body });
  }
}

/** @throws {GatewayError} `not_found` for a task that is not here, or somebody else's; what the host says */
async function reply(host: TaskHost, { id, asker, verb, body }: JobQuestion): Promise<ToldTask> {
  if (verb === "look") return { task: host.get(id, asker).task };
  if (verb === "cancel") return { task: await host.cancel(id, asker) };
  const { message, sender } = answerSchema.parse(body, FIRST_PROBLEM);
  if (sender.ref !== asker.ref) throw unknownTask();
  await host.answer(message, sender);
  return {};
}

/** The events of a task here as another replica takes them, bounded as those of a client. */
async function* eventsOf(
  host: TaskHost,
  { id, owner }: z.output<typeof followSchema>,
  signal: AbortSignal,
): AsyncIterable<StreamEvent> {
  const events = new EventQueue({ stopsWaiting: false });
  const stop = host.watch(id, { ref: owner }, (event) => events.push(event));
  const leave = (): void => void events.return();
  signal.addEventListener("abort", leave);
  try {
    yield* events;
  } finally {
    stop();
    signal.removeEventListener("abort", leave);
  }
}

function silent(): GatewayError {
  return new GatewayError("unavailable", "The replica that works on the task did not answer.", {
    hint: "Make the request again.",
  });
}
