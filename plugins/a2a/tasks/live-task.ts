import { randomUUID } from "node:crypto";
import { Cancellation, type Json, type Principal } from "propylon";
import {
  STATES,
  type Artifact,
  type Message,
  type Part,
  type StreamEvent,
  type Task,
  type TaskState,
} from "propylon/contract";
import type { SkillArtifact } from "../define.ts";
import type { RunningTask } from "../service.ts";
import { applyEvent } from "./fold.ts";
import { isSettled, mayFollow } from "./transitions.ts";

/** What a task is made of. */
export interface Order {
  readonly id: string;
  readonly contextId: string;
  readonly owner: Principal;
  /** Id of the skill that works on it. */
  readonly skill: string;
  readonly metadata?: Json | undefined;
}

/** A task under way or over: its snapshots, who watches, and what may follow. Its final states are sticky. */
export class LiveTask implements RunningTask {
  readonly owner: Principal;
  readonly skill: string;
  /** Milliseconds of `performance.now()`: when the work on the last message began. */
  begunAt = performance.now();
  /** Milliseconds since the epoch of its last change of state. */
  changedAt = Date.now();
  /** Bytes as JSON; known once it is settled. */
  bytes = 0;
  /** Ends the call that works on its last message. */
  cancellation = new Cancellation();
  /** Whether somebody asked for its end. */
  isUnwanted = false;
  /** Whether it was ended because whoever waited for it went away. */
  isForsaken = false;
  /** What the skill answered when it had but a word to say. */
  reply: Message | undefined;
  readonly #accepted: Message[] = [];
  readonly #watchers = new Set<(event: StreamEvent) => void>();
  #task: Task;
  #settled = deferred<Task>();

  constructor({ id, contextId, owner, skill, metadata }: Order) {
    this.owner = owner;
    this.skill = skill;
    this.#task = {
      id,
      contextId,
      status: { state: "submitted", timestamp: new Date().toISOString() },
      artifacts: [],
      history: [],
      metadata: { ...metadata, skill },
    };
  }

  get id(): string {
    return this.#task.id;
  }

  get contextId(): string {
    return this.#task.contextId!;
  }

  get task(): Task {
    return this.#task;
  }

  get state(): TaskState {
    return this.#task.status.state;
  }

  get isFinal(): boolean {
    return STATES[this.state].isFinal;
  }

  get isSettled(): boolean {
    return isSettled(this.state);
  }

  get settled(): Promise<Task> {
    return this.#settled.promise;
  }

  watch(listener: (event: StreamEvent) => void): () => void {
    listener({ task: this.#task });
    if (!this.isSettled) this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  /**
   * Whether a message is one that it has taken before: by its id; where it has none, the last one word for word, unless something was
   * asked since, because the same words may be the answer.
   */
  hasTaken({ messageId, parts }: Message): boolean {
    if (messageId !== undefined)
      return this.#accepted.some((before) => before.messageId === messageId);
    const last = JSON.stringify(this.#accepted.at(-1)?.parts);
    return !STATES[this.state].isInterrupted && last === JSON.stringify(parts);
  }

  /** Takes a message: the first, or the answer to what it asked, which goes on at once. The question becomes history. */
  take(message: Message): void {
    const { status, history = [] } = this.#task;
    const asked = status.message ? [status.message] : [];
    this.#accepted.push(message);
    this.#task = { ...this.#task, history: [...history, ...asked, message] };
    this.begunAt = performance.now();
    if (!this.isSettled) return;
    this.#settled = deferred<Task>();
    this.cancellation = new Cancellation();
    this.reply = undefined;
    this.move("working");
  }

  /** Goes to a state, with a word about it; `false` when that may not follow. */
  move(state: TaskState, parts?: readonly Part[], metadata?: Json): boolean {
    if (!mayFollow(this.state, state)) return false;
    const timestamp = new Date().toISOString();
    const message = parts && this.say(parts);
    const status = { state, timestamp, ...(message && { message }) };
    this.#emit({
      statusUpdate: { ...this.#ids, status, ...(metadata && { metadata }) },
    });
    return true;
  }

  /** Adds to an artifact, or replaces it; does nothing once it is settled. */
  write({ artifactId = "result", parts, append, lastChunk, ...rest }: SkillArtifact): void {
    if (this.isSettled) return;
    const flags = { ...(append !== undefined && { append }), ...(lastChunk && { lastChunk }) };
    const artifact: Artifact = { artifactId, ...rest, parts: [...parts] };
    this.#emit({ artifactUpdate: { ...this.#ids, artifact, ...flags } });
  }

  /** Parts as a message of the agent about this task. */
  say(parts: readonly Part[]): Message {
    const { id: taskId, contextId } = this;
    return { messageId: randomUUID(), role: "agent", parts: [...parts], taskId, contextId };
  }

  get #ids(): { readonly taskId: string; readonly contextId: string } {
    return { taskId: this.id, contextId: this.contextId };
  }

  #emit(event: StreamEvent): void {
    this.#task = applyEvent(this.#task, event);
    if ("statusUpdate" in event) this.changedAt = Date.now();
    const { isSettled: isOver } = this;
    if (isOver) this.bytes = Buffer.byteLength(JSON.stringify(this.#task));
    for (const watcher of this.#watchers) watcher(event);
    if (!isOver) return;
    this.#watchers.clear();
    this.#settled.resolve(this.#task);
  }
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
}

function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}
