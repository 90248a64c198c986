import { randomUUID } from "node:crypto";
import type { Json, Peer } from "propylon";
import type { Message, Part, TaskState } from "propylon/contract";
import type { SkillArtifact } from "../../define.ts";
import type { LiveTask } from "./live-task.ts";
import type { TaskPeer } from "./peer.ts";

/** How the work on a message ends, short of a failure. */
export interface WorkResult {
  readonly state: Extract<TaskState, "input-required" | "auth-required" | "rejected" | "completed">;
  readonly parts?: readonly Part[];
}

/** One message that a skill works on, and where it says what it does. What comes behind the end of the task is lost. */
export class Work {
  readonly message: Message;
  /** What was said in this task before. */
  readonly history: readonly Message[];
  /** What it came to; `undefined`: it is completed when the skill is done. */
  verdict: WorkResult | undefined;
  /** Resolves when the skill has really stopped, which may be after its call was given up; absent: it stops with it. */
  over: Promise<unknown> | undefined;
  /** Who answers what its call asks; `undefined` outside of the runtime. */
  sender: TaskPeer | undefined;
  readonly #task: LiveTask;

  constructor(task: LiveTask, message: Message) {
    const { history = [] } = task.task;
    this.#task = task;
    this.message = message;
    this.history = history.slice(0, history.lastIndexOf(message));
  }

  /**
   * Who answers what is asked in calls that the skill makes itself; `undefined` outside of the runtime. What it calls itself is no
   * longer the work of this task: by another key it finds no work.
   */
  get peer(): Peer | undefined {
    return this.sender?.with(randomUUID());
  }

  get taskId(): string {
    return this.#task.id;
  }

  get contextId(): string {
    return this.#task.contextId;
  }

  /** Says what it is doing; not while a call of it waits for an answer, since the task would look as if it waited for nobody. */
  status(parts: readonly Part[], metadata?: Json): void {
    if (!this.#task.isAsking && this.#task.accepts(parts))
      this.#task.move("working", parts, metadata);
  }

  /** Adds to an artifact, or replaces it. */
  artifact(piece: SkillArtifact): void {
    this.#task.write(piece);
  }

  /** Ends the turn: the task waits for somebody. */
  ask(parts: readonly Part[], state: "input-required" | "auth-required" = "input-required"): void {
    if (this.#task.accepts(parts)) this.verdict = { state, parts };
  }

  /** The skill does not want to do this. */
  reject(parts: readonly Part[]): void {
    if (this.#task.accepts(parts)) this.verdict = { state: "rejected", parts };
  }

  /** Answers with just a message; who wants a task gets one with it as its artifact. */
  reply(parts: readonly Part[]): void {
    if (!this.#task.accepts(parts)) return;
    this.#task.reply = this.#task.say(parts);
    this.artifact({ parts: [...parts], lastChunk: true });
    this.verdict = { state: "completed" };
  }

  /** Parts of all artifacts that the task has by now. */
  get parts(): readonly Part[] {
    return (this.#task.task.artifacts ?? []).flatMap(({ parts }) => parts);
  }

  /** Whether it wrote any artifact. */
  get hasWritten(): boolean {
    return (this.#task.task.artifacts ?? []).length > 0;
  }
}
