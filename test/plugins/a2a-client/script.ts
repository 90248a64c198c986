import { randomUUID } from "node:crypto";
import { Artifact, Message, Part, Task, TaskState } from "@a2a-js/sdk";
import {
  AgentEvent,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from "@a2a-js/sdk/server";

const { TASK_STATE_WORKING: WORKING, TASK_STATE_COMPLETED: COMPLETED } = TaskState;

/** An agent that does what a message tells it to. */
export class Script implements AgentExecutor {
  /** Messages it was given, in order. */
  readonly messages: Message[] = [];
  readonly cancelled: string[] = [];
  /** Tasks at work. */
  readonly working = new Set<string>();
  readonly #gates = new Map<string, () => void>();
  #opened = false;

  /** Lets those go on that wait, and those that come. */
  open(): void {
    this.#opened = true;
    for (const open of this.#gates.values()) open();
  }

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { userMessage, task } = context;
    this.messages.push(userMessage);
    const [text = ""] = userMessage.parts.map(({ content }) =>
      content?.$case === "text" ? content.value : "",
    );
    const turn = new ScriptedTurn(context, bus);
    if (text === "plain message") return bus.publish(turn.say("just words"));
    this.working.add(context.taskId);
    turn.begin();
    if (task) turn.finish(COMPLETED, undefined, { text: `you said ${text}` });
    else await this.#play(text, turn);
    this.working.delete(context.taskId);
    bus.finished();
  }

  // oxlint-disable-next-line typescript/require-await -- the interface wants a promise
  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    this.cancelled.push(taskId);
    bus.publish(
      AgentEvent.statusUpdate({
        taskId,
        contextId: "",
        status: { state: TaskState.TASK_STATE_CANCELED, message: undefined, timestamp: undefined },
        metadata: undefined,
      }),
    );
    this.#gates.get(taskId)?.();
    bus.finished();
  }

  async #play(text: string, turn: ScriptedTurn): Promise<void> {
    const [verb = "", ...words] = text.split(" ");
    const said = words.join(" ");
    switch (verb) {
      case "steps":
        for (const step of words) turn.status(WORKING, step);
        return turn.finish(COMPLETED, undefined, { text: "stepped" });
      case "wait":
        turn.status(WORKING, "waiting");
        turn.artifact({ text: "before " }, false);
        await this.#gate(turn.taskId);
        if (this.cancelled.includes(turn.taskId)) return;
        turn.artifact({ text: "after" }, true);
        return turn.status(COMPLETED);
      case "ask":
        return turn.status(TaskState.TASK_STATE_INPUT_REQUIRED, said);
      case "authorise":
        return turn.status(TaskState.TASK_STATE_AUTH_REQUIRED, said);
      case "fail":
        return turn.status(TaskState.TASK_STATE_FAILED, said);
      case "reject":
        return turn.status(TaskState.TASK_STATE_REJECTED, said);
      case "huge":
        for (let i = 0; i < 20; i++) turn.artifact({ text: "x".repeat(10_000) }, i > 0);
        return turn.status(COMPLETED);
      case "parts":
        return turn.finish(COMPLETED, undefined, ...(JSON.parse(said) as object[]));
      case "status":
        return turn.status(COMPLETED, said);
      default:
        return turn.finish(COMPLETED, undefined, { text: `hello, ${text}` });
    }
  }

  #gate(taskId: string): Promise<void> {
    if (this.#opened) return Promise.resolve();
    return new Promise((resolve) => this.#gates.set(taskId, resolve));
  }
}

/** One message being worked on. */
class ScriptedTurn {
  readonly #context: RequestContext;
  readonly #bus: ExecutionEventBus;
  readonly #artifact = randomUUID();

  constructor(context: RequestContext, bus: ExecutionEventBus) {
    this.#context = context;
    this.#bus = bus;
  }

  get taskId(): string {
    return this.#context.taskId;
  }

  begin(): void {
    const { taskId: id, contextId, task } = this.#context;
    const begun = task ?? Task.fromJSON({ id, contextId, status: { state: 1 } });
    this.#bus.publish(AgentEvent.task(begun));
  }

  say(text: string): AgentEvent {
    return AgentEvent.message(this.#message(text));
  }

  status(state: TaskState, text?: string): void {
    const { taskId, contextId } = this.#context;
    const message = text === undefined ? undefined : this.#message(text);
    const status = { state, message, timestamp: new Date().toISOString() };
    this.#bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }));
  }

  artifact(part: object, append: boolean, id = this.#artifact): void {
    const { taskId, contextId } = this.#context;
    const artifact = Artifact.fromJSON({ artifactId: id, parts: [part] });
    const update = { taskId, contextId, artifact, append, lastChunk: false, metadata: undefined };
    this.#bus.publish(AgentEvent.artifactUpdate(update));
  }

  finish(state: TaskState, text: string | undefined, ...parts: object[]): void {
    for (const part of parts) this.artifact(part, false, randomUUID());
    this.status(state, text);
  }

  #message(text: string): Message {
    return {
      ...Message.fromJSON({ messageId: randomUUID(), role: "ROLE_AGENT" }),
      contextId: this.#context.contextId,
      parts: [Part.fromJSON({ text })],
    };
  }
}

type AgentEvent = ReturnType<typeof AgentEvent.message>;
