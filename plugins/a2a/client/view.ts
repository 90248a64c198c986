import {
  STATES,
  textOf,
  type Message,
  type Part,
  type StreamEvent,
  type Task,
  type TaskArtifactUpdate,
  type TaskStatusUpdate,
} from "propylon/contract";
import { applyEvent } from "../tasks/fold.ts";
import type { AgentEvent } from "./channel.ts";

/** How a turn ended: with a task that is final or waits for somebody, or with nothing but a message. */
export type Outcome = { readonly task: Task } | { readonly message: Message };

/** A task as its events tell of it, put together. */
export class TaskView {
  readonly #limit: number;
  readonly #onExcess: () => Error;
  readonly #known: Promise<string>;
  #tellKnown!: (id: string) => void;
  #id: string | undefined;
  #task: Task | undefined;
  #message: Message | undefined;
  #size = 0;

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
    return this.#task !== undefined || this.#message !== undefined;
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
    return this.#task?.status;
  }

  /** What the agent last said about how it is getting on, or the state. */
  get words(): string {
    const { message, state = "" } = this.status ?? {};
    return (message && textOf(message.parts)) || state;
  }

  /** Call once settled. */
  get outcome(): Outcome {
    return this.#message ? { message: this.#message } : { task: this.#task! };
  }

  /** A task whose id is known before anything was told of it. */
  expect(id: string): void {
    this.#id = id;
    this.#tellKnown(id);
  }

  /** @throws what `onExcess` makes */
  add(event: AgentEvent): void {
    if (isMessage(event)) this.#message = event.message;
    else this.#apply(event);
  }

  get #facts() {
    return this.status && STATES[this.status.state];
  }

  #apply(event: StreamEvent): void {
    this.#task = applyEvent(this.#task ?? begun(event), event);
    this.expect(this.#task.id);
    const more =
      "artifactUpdate" in event ? (event.artifactUpdate as TaskArtifactUpdate) : undefined;
    this.#size = more?.append
      ? this.#size + sizeOf(more.artifact.parts)
      : (this.#task.artifacts ?? []).reduce((sum, { parts }) => sum + sizeOf(parts), 0);
    if (this.#size > this.#limit) throw this.#onExcess();
  }
}

/** A task that an update is the first to tell of: contract v1 does not say that the task itself comes first. */
function begun(event: StreamEvent): Task {
  if ("task" in event) return event.task as Task;
  const { taskId: id, contextId } = (
    "artifactUpdate" in event ? event.artifactUpdate : event["statusUpdate"]
  ) as TaskArtifactUpdate | TaskStatusUpdate;
  return { id, contextId, status: { state: "working" } };
}

function isMessage(event: AgentEvent): event is { readonly message: Message } {
  return "message" in event;
}

/** Bytes that parts take as JSON. */
function sizeOf(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + Buffer.byteLength(JSON.stringify(part)), 0);
}
