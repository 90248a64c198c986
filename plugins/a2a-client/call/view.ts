import {
  STATES,
  TaskFold,
  textOf,
  type Message,
  type StreamEvent,
  type Task,
} from "propylon/contract";
import type { RemoteEvent } from "./agent-client.ts";

/** How a turn ended: with a task that is final or waits for somebody, or with nothing but a message. */
export type Outcome = { readonly task: Task } | { readonly message: Message };

/** A task as its events tell of it, put together. */
export class TaskView {
  readonly #limit: number;
  readonly #onExcess: () => Error;
  readonly #known: Promise<string>;
  #tellKnown!: (id: string) => void;
  #id: string | undefined;
  #fold: TaskFold | undefined;
  #message: Message | undefined;

  /**
   * @param limit bytes of all artifacts
   * @param onExcess makes the error for more
   */
  constructor(limit: number, onExcess: () => Error) {
    this.#limit = limit;
    this.#onExcess = onExcess;
    this.#known = new Promise((resolve) => (this.#tellKnown = resolve));
  }

  get id(): string | undefined {
    return this.#id;
  }

  /** Resolves with the id once it is known. */
  get known(): Promise<string> {
    return this.#known;
  }

  /** Whether the agent has said anything yet. */
  get isTold(): boolean {
    return this.#fold !== undefined || this.#message !== undefined;
  }

  /** Whether nothing follows. */
  get isFinal(): boolean {
    return this.#message !== undefined || this.#facts?.isFinal === true;
  }

  /** Whether nothing follows, or somebody is waited for. */
  get isSettled(): boolean {
    return this.isFinal || this.#facts?.isInterrupted === true;
  }

  get status(): Task["status"] | undefined {
    return this.#fold?.task.status;
  }

  /** What the agent last said about how it is getting on, or the state. */
  get words(): string {
    const { message, state = "" } = this.status ?? {};
    return (message && textOf(message.parts)) || state;
  }

  /** Call once settled. */
  get outcome(): Outcome {
    return this.#message ? { message: this.#message } : { task: this.#fold!.task };
  }

  /** A task whose id is known before anything was told of it. */
  expect(id: string): void {
    this.#id = id;
    this.#tellKnown(id);
  }

  /** @throws what `onExcess` makes */
  add(event: RemoteEvent): void {
    if (isMessage(event)) this.#message = event.message;
    else this.#apply(event);
  }

  get #facts() {
    return this.status && STATES[this.status.state];
  }

  #apply(event: StreamEvent): void {
    this.#fold ??= new TaskFold(begun(event), this.#limit, this.#onExcess);
    // Known before it is too much: what is given up is cancelled by its id.
    this.expect("task" in event ? event.task.id : this.#fold.task.id);
    this.#fold.add(event);
  }
}

/** A task that an update is the first to tell of: contract v1 does not say that the task itself comes first. */
function begun(event: StreamEvent): Task {
  if ("task" in event) return event.task;
  const { taskId: id, contextId } =
    "artifactUpdate" in event ? event.artifactUpdate : event.statusUpdate;
  return { id, contextId, status: { state: "working" } };
}

function isMessage(event: RemoteEvent): event is { readonly message: Message } {
  return "message" in event;
}
