import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { GatewayError, type Json } from "propylon";
import { Cancellation } from "propylon/kit";
import {
  applyEvent,
  STATES,
  type Message,
  type Part,
  type StreamEvent,
  type Task,
  type TaskState,
  TASK_STATES,
} from "propylon/contract";
import { isSettled } from "../../contract/states.ts";
import type { SkillArtifact } from "../../define.ts";
import type { TaskOwner, RunningTask } from "../../service.ts";
import { Artifacts, type Update } from "./artifacts.ts";
import { TaskAudience } from "./task-audience.ts";
import type { Queued, TaskRecord } from "./task-record.ts";
import { TaskQuestion } from "./question.ts";
import { jsonSize } from "../../json-size.ts";

/**
 * Which state may follow which. Final ones are followed by nothing; a state may follow itself only while work goes on, with another
 * message. Work that was interrupted goes on as `working`.
 */
const FOLLOWERS: Readonly<Record<TaskState, readonly TaskState[]>> = {
  submitted: ["working", "failed", "canceled", "rejected"],
  working: TASK_STATES.filter((state) => state !== "submitted"),
  "input-required": ["working", "failed", "canceled"],
  "auth-required": ["working", "failed", "canceled"],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
};

/** Whether a task may go from one state to another. */
function mayFollow(from: TaskState, to: TaskState): boolean {
  return FOLLOWERS[from].includes(to);
}

/** What a task is made of. */
export interface LiveTaskOptions {
  readonly id: string;
  readonly contextId: string;
  readonly owner: TaskOwner;
  /** Id of the skill that works on it. */
  readonly skill: string;
  /** Most bytes that its messages and artifacts may take as JSON. */
  readonly most: number;
  /** Hears every event for as long as the task lives, those after a wait included. */
  readonly hear?: (event: StreamEvent) => void;
  /** Puts a state in which nobody works on it into the store; nobody is told of it before. Absent: there is none to wait for. */
  readonly confirm?: (() => Promise<void>) | undefined;
  /** What the store has of it. Default: it is new. */
  readonly record?: TaskRecord;
}

/** A task under way or over: its snapshots, who watches, and what may follow. Its final states are sticky. */
export class LiveTask implements RunningTask {
  readonly owner: TaskOwner;
  readonly skill: string;
  /** Its place among those at work. */
  slot = -1;
  /** Resolves when nothing of the work on its last message goes on any more. */
  work: Promise<void> | undefined = undefined;
  /** Milliseconds of `performance.now()`: when the work on the last message began. */
  begunAt = performance.now();
  /** Milliseconds since the epoch of its last change of state. */
  changedAt = Date.now();
  /** Milliseconds since the epoch. */
  createdAt = Date.now();
  /** Ends the call that works on its last message. */
  cancellation = new Cancellation();
  /** Whether somebody asked for its end. */
  isUnwanted = false;
  /** Why what the skill made cannot be kept. The work ends with it, and what else comes is lost: code that writes must not be thrown at. */
  fault: GatewayError | undefined;
  /** Whether its replica ended while it was under way. */
  isAbandoned = false;
  /** Whether it was ended because the client that waited for it went away. */
  isForsaken = false;
  /** Whether another replica goes on with it: what happens here counts no more, and nobody is told. */
  isForeign = false;
  /** How the work on its last message was handed out, where a queue does that. */
  queued: Queued | undefined;
  /** What the skill answered when it had but a word to say. */
  reply: Message | undefined;
  readonly #most: number;
  /** Bytes of its history. */
  #said = 0;
  readonly #made = new Artifacts();
  #accepted: readonly Message[] = [];
  readonly #audience: TaskAudience;
  readonly #confirm: LiveTaskOptions["confirm"];
  #task: Task;
  /** That of a call under way, which waits for the next message. */
  #question: TaskQuestion | undefined;

  constructor({ id, contextId, owner, skill, most, hear, confirm, record }: LiveTaskOptions) {
    this.owner = owner;
    this.skill = skill;
    this.#most = most;
    this.#confirm = confirm;
    this.#task = record?.task ?? {
      id,
      contextId,
      status: { state: "submitted", timestamp: new Date().toISOString() },
      artifacts: [],
      history: [],
      metadata: { skill },
    };
    this.#audience = new TaskAudience(this.#task, (event) => hear?.(event));
    if (record) this.#restore(record);
  }

  #restore({
    task,
    taken,
    reply,
    isAbandoned,
    changedAt,
    createdAt = changedAt,
    queued,
  }: TaskRecord): void {
    const { history = [], artifacts = [] } = task;
    this.#said = jsonSize(history) ?? 0;
    for (const { artifactId = "result", ...artifact } of artifacts)
      this.#made.resize(artifactId, jsonSize(artifact) ?? 0);
    this.#accepted = taken.flatMap((place) => history[place] ?? []);
    this.reply = reply;
    this.isAbandoned = isAbandoned;
    this.changedAt = changedAt;
    this.createdAt = createdAt;
    this.queued = queued;
  }

  /** What the store keeps of it. @param replica the replica that goes on with it */
  toRecord(replica: string): TaskRecord {
    const { owner, skill, reply, isAsking, isAbandoned, changedAt, createdAt, queued } = this;
    const history = this.#task.history ?? [];
    return {
      owner: owner.ref,
      skill,
      task: this.#task,
      taken: this.#accepted.map((message) => history.indexOf(message)).filter((at) => at >= 0),
      ...(reply && { reply }),
      isAsking,
      isAbandoned,
      changedAt,
      createdAt,
      replica,
      ...(queued && (!this.isSettled || isAsking) && { queued }),
    };
  }

  get id(): string {
    return this.#task.id;
  }

  get contextId(): string {
    return this.#task.contextId!;
  }

  /** As others know it: behind what is, as long as that is not confirmed. */
  get task(): Task {
    return this.#audience.task;
  }

  get state(): TaskState {
    return this.#task.status.state;
  }

  get isFinal(): boolean {
    return STATES[this.state].isFinal;
  }

  /** The message that was taken last: the one in its history. */
  get lastMessage(): Message {
    return this.#accepted.at(-1)!;
  }

  get isSettled(): boolean {
    return isSettled(this.state);
  }

  /** Whether a call under way waits for the next message. */
  get isAsking(): boolean {
    return this.#question !== undefined;
  }

  /** Resolves when everything that happened so far is known to others. */
  get confirmed(): Promise<void> | undefined {
    return this.#audience.confirmed;
  }

  get settled(): Promise<Task> {
    return this.#audience.settled;
  }

  /** Nothing of it goes on. What the work hung on its cancellation would be kept as long as the task. */
  rest(): void {
    if (this.isFinal) this.cancellation = new Cancellation();
  }

  /** Bytes that its messages and artifacts take as JSON. */
  get bytes(): number {
    return this.#said + this.#made.bytes;
  }

  watch(listener: (event: StreamEvent) => void): () => void {
    return this.#audience.watch(listener);
  }

  /**
   * Whether a message is one that it has taken before: by its id and content; where it has no id, the last one word for word, unless
   * something was asked since, because the same words may be the answer.
   */
  hasTaken(message: Message): boolean {
    const { messageId, parts } = message;
    const isSame = (before: Message | undefined): boolean =>
      isDeepStrictEqual(before?.parts, parts);
    if (messageId !== undefined) return this.#known(message).some((before) => isSame(before));
    return !STATES[this.state].isInterrupted && isSame(this.#accepted.at(-1));
  }

  /** Whether it has taken a message with this id, whatever that said. */
  knowsIdOf(message: Message): boolean {
    return this.#known(message).length > 0;
  }

  #known({ messageId }: Message): readonly Message[] {
    if (messageId === undefined) return [];
    return this.#accepted.filter((before) => before.messageId === messageId);
  }

  /**
   * Takes a message: the first, or the answer to what it asked, which goes on at once. The question becomes history. A call that
   * waits for the message gets it by {@link answer}.
   * @throws {GatewayError} `too_large`, and nothing has changed
   */
  take(message: Message): void {
    const { status, history = [] } = this.#task;
    const more = status.message ? [status.message, message] : [message];
    const size = jsonSize(more) ?? Infinity;
    if (this.bytes + size > this.#most)
      throw new GatewayError("too_large", `A task holds at most ${this.#most} bytes.`, {
        hint: "Send less, or begin another task with the same contextId.",
      });
    this.#said += size;
    this.#accepted = this.#accepted.concat(message);
    this.#task = { ...this.#task, history: history.concat(more) };
    this.#audience.show(this.#task);
    this.begunAt = performance.now();
    if (!this.isSettled) return;
    if (!this.isAsking) {
      this.cancellation = new Cancellation();
      this.reply = undefined;
    }
    this.#goOn();
  }

  /**
   * Asks in the middle of a call: the task waits for somebody, and so does the call.
   * @param signal takes the question back
   * @throws {GatewayError} why the task ended meanwhile; `cancelled` for a question that was taken back; `result_too_large`
   */
  ask(parts: readonly Part[], signal?: AbortSignal): Promise<Message> {
    if (!this.accepts(parts)) return Promise.reject(this.fault!);
    const question = new TaskQuestion(this.cancellation, signal, (how) => {
      this.#question = undefined;
      if (how === "withdrawn" && STATES[this.state].isInterrupted) this.#goOn();
    });
    if (!question.isOpen) return question.answer;
    this.#question = question;
    this.move("input-required", parts);
    return question.answer;
  }

  /** Hands the message that was taken to the call that waits for it. */
  answer(message: Message): void {
    this.#question?.take(message);
  }

  /** The call that asked has ended, or wants no answer any more: the task waits no longer. */
  withdraw(): void {
    this.#question?.withdraw();
  }

  #goOn(): void {
    this.#audience.goOn();
    this.move("working");
  }

  /** Goes to a state, with a word about it; `false` when that may not follow. */
  move(state: TaskState, parts?: readonly Part[], metadata?: Json): boolean {
    if (!mayFollow(this.state, state)) return false;
    const timestamp = new Date().toISOString();
    const status = parts ? { state, timestamp, message: this.say(parts) } : { state, timestamp };
    const { taskId, contextId } = this.#ids;
    this.#emit({
      statusUpdate: metadata
        ? { taskId, contextId, status, metadata }
        : { taskId, contextId, status },
    });
    return true;
  }

  /** Adds to an artifact, or replaces it; does nothing once it is settled or at {@link fault}. */
  write({ artifactId = "result", parts, append, lastChunk, ...rest }: SkillArtifact): void {
    const isOver = this.isSettled && !this.isAsking;
    if (isOver || !this.#hasRoom(artifactId, { parts, ...rest }, append)) return;
    const artifact = { artifactId, ...rest, parts: [...parts] };
    this.#tell(this.#made.update(this.#task, { artifact, append, lastChunk }));
  }

  /** Ends the artifacts that the skill has not ended itself. */
  close(): void {
    for (const update of this.#made.end(this.#task)) this.#tell(update);
  }

  #tell(update: Update): void {
    const { taskId, contextId } = this.#ids;
    this.#emit({ artifactUpdate: { taskId, contextId, ...update } });
  }

  /** Whether something that the skill said can be kept; if not, it is at {@link fault}. */
  accepts(said: unknown): boolean {
    return this.#sizeOf(said) !== undefined;
  }

  /** Bytes of what can be kept. */
  #sizeOf(said: unknown): number | undefined {
    const size = jsonSize(said);
    if (size === undefined) this.#blame(NO_JSON);
    else if (size > this.#most) this.#blame(tooLarge(this.#most));
    return this.fault ? undefined : size;
  }

  #hasRoom(artifactId: string, piece: unknown, append = false): boolean {
    const bytes = this.#sizeOf(piece);
    if (bytes === undefined) return false;
    const before = this.#made.sizeOf(artifactId);
    const size = bytes + (append ? before : 0);
    if (this.bytes - before + size > this.#most) this.#blame(tooLarge(this.#most));
    else this.#made.resize(artifactId, size);
    return this.fault === undefined;
  }

  #blame(fault: GatewayError): void {
    this.fault ??= fault;
    this.cancellation.abort(fault);
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
    if (this.isForeign) return;
    const confirmed = this.isSettled ? this.#confirm?.() : undefined;
    this.#audience.tell(event, this.#task, confirmed, () => this.#lose());
  }

  /** Ends as another replica has stored it, and has told others. */
  endAs(record: TaskRecord): void {
    const { task } = record;
    this.isForeign = true;
    this.#task = task;
    this.#restore(record);
    this.#audience.tellNow({ task }, task);
  }

  /** What it came to is not in the store, so nobody may rely on it. */
  #lose(): void {
    if (this.isForeign) return;
    const message = this.say([{ text: LOST }]);
    const status = { state: "failed" as const, timestamp: new Date().toISOString(), message };
    const event = { statusUpdate: { ...this.#ids, status } };
    this.#task = applyEvent(this.task, event);
    this.#audience.tellNow(event, this.#task);
  }
}

/** Why a task that is done failed all the same. */
const LOST = "What this task came to could not be stored. Send the message again.";
const NO_JSON = new GatewayError("internal", "The skill made something that JSON cannot hold.");

function tooLarge(most: number): GatewayError {
  return new GatewayError("result_too_large", `The task would hold more than ${most} bytes.`, {
    hint: "Raise tasks.maxTaskSize, or let the skill answer with less.",
  });
}
