import { GatewayError, isGatewayError } from "propylon";
import { FIRST_PROBLEM, LookupQuota } from "propylon/kit";
import { askOnce, type Store } from "propylon/store";
import { type KeptPrincipal, keptPrincipalSchema } from "propylon/internal";
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
import type { TaskRecord } from "../task/task-record.ts";

/** How long another gateway may take to tell of a task, in milliseconds. */
const LOOK_MS = 2_000;
/** How long it may take to end one: it waits until nothing of it goes on. */
const CANCEL_MS = 30_000;
/** Tasks that are followed at other gateways at a time, and here for others: each takes a place among the questions of a gateway. */
const FOLLOWS = { max: 300, maxOfOne: 150 };
const TOPIC = "task";
const EVENTS = "events";
const ANSWERS = "answers";

const questionSchema = z.object({
  id: z.string(),
  /** `ref` of its owner, who is compared where it runs, too. */
  owner: z.string(),
  verb: z.enum(["look", "cancel"]),
});

const followSchema = questionSchema.pick({ id: true, owner: true });

const answerSchema = followSchema.extend({
  message: messageSchema,
  sender: keptPrincipalSchema,
});

/** What this gateway does about tasks for others. */
export interface TaskHost {
  get(id: string, owner: TaskOwner): { readonly task: Task };
  cancel(id: string, owner: TaskOwner): Promise<Task>;
  /** Hands a message to the call that waits for it. */
  answer(message: Message, sender: KeptPrincipal): Promise<void>;
  /** Tells of every event of a task here, the first with the whole task. @returns stops telling */
  watch(id: string, owner: TaskOwner, listener: (event: StreamEvent) => void): () => void;
}

/** Tasks at work at other gateways of the store. */
export class TasksElsewhere {
  readonly #store: Store;
  readonly #follows = new LookupQuota("tasks of other gateways", FOLLOWS);
  readonly #followed = new LookupQuota("tasks of this gateway", FOLLOWS);

  constructor(store: Store) {
    this.#store = store;
  }

  /** Answers what others ask about tasks at work here. @returns ends that */
  async serve(host: TaskHost): Promise<() => void> {
    if (!this.#store.shared) return () => {};
    const end = await this.#store.answer(TOPIC, async function* (body: unknown) {
      const { id, owner, verb } = questionSchema.parse(body, FIRST_PROBLEM);
      const ref = { ref: owner };
      yield verb === "cancel" ? await host.cancel(id, ref) : host.get(id, ref).task;
    });
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
    const endAnswers = await this.#store.answer(ANSWERS, async function* (body: unknown) {
      const { message, sender, owner } = answerSchema.parse(body, FIRST_PROBLEM);
      if (sender.ref !== owner) throw new GatewayError("not_found", "There is no such task.");
      yield await host.answer(message, sender);
    });
    return () => {
      void end();
      void endEvents();
      void endAnswers();
    };
  }

  /**
   * Tells of every event of a task that another gateway works on.
   * @param lost that gateway tells nothing more, although the task has not ended
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

  /** Hands a message to the call of a task that waits for it. @throws {GatewayError} `unavailable`; what the other gateway says */
  async answer({ task, owner, replica }: TaskRecord, message: Message, sender: KeptPrincipal) {
    const question = { id: task.id, owner, message: { ...message, taskId: task.id }, sender };
    await askOnce(this.#store, replica, {
      topic: ANSWERS,
      body: question,
      schema: z.unknown(),
      timeout: CANCEL_MS,
    });
  }

  /** A task as it is now. One whose gateway cannot be asked, or has just ended it, is told as it was stored. */
  async look(record: TaskRecord): Promise<Task> {
    // It waits for a gateway.
    if (record.replica === "") return record.task;
    return this.#ask(record, "look", LOOK_MS).catch(() => record.task);
  }

  /** @throws {GatewayError} `exists` when it has ended meanwhile; `unavailable` when its gateway does not answer */
  cancel(record: TaskRecord): Promise<Task> {
    return this.#ask(record, "cancel", CANCEL_MS);
  }

  #ask(
    { owner, task, replica }: TaskRecord,
    verb: "look" | "cancel",
    timeout: number,
  ): Promise<Task> {
    const body = { id: task.id, owner, verb };
    return askOnce(this.#store, replica, { topic: TOPIC, body, schema: taskSchema, timeout });
  }
}

/** The events of a task here as another gateway takes them, bounded as those of a client. */
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
  return new GatewayError("unavailable", "The gateway that works on the task did not answer.", {
    hint: "Make the request again.",
  });
}
