import { randomUUID } from "node:crypto";
import { Answer, GatewayError, type Json, type Principal } from "propylon";
import { isObject } from "propylon/kit";
import { toContent } from "propylon/internal";
import { type Message, STATES, type Task, textOf } from "propylon/contract";
import {
  type InputRequest,
  type SharedTask,
  type TaskEnd,
  type TaskSource,
  toEnd,
  ttlOf,
} from "propylon/plugins/tasks";
import { SCHEMA_TYPE } from "./task/form.ts";
import type { LiveTask } from "./task/live-task.ts";
import type { RequestHandler } from "./request-handler.ts";

/** What is asked where the question has no form of its own. */
const ANSWER_SCHEMA: Json = {
  type: "object",
  properties: { answer: { type: "string", title: "Answer" } },
  required: ["answer"],
};

/** The tasks of the runtime, for the other faces of the gateway. */
export class RuntimeTasks implements TaskSource {
  readonly #handler: RequestHandler;

  constructor(handler: RequestHandler) {
    this.#handler = handler;
  }

  find(id: string, principal: Principal): SharedTask | undefined {
    const task = this.#handler.find(id, principal);
    return task && new RuntimeTask(task, this.#handler, principal);
  }
}

/** One of them. */
class RuntimeTask implements SharedTask {
  readonly kind = "a2a";
  readonly server = "a2a";
  readonly #live: LiveTask;
  readonly #handler: RequestHandler;
  readonly #principal: Principal;

  constructor(live: LiveTask, handler: RequestHandler, principal: Principal) {
    this.#live = live;
    this.#handler = handler;
    this.#principal = principal;
  }

  get id(): string {
    return this.#live.id;
  }

  get name(): string {
    return this.#live.skill;
  }

  /** One that wants credentials works on: nobody may be asked for them over MCP. */
  get state(): SharedTask["state"] {
    const { state } = this.#task.status;
    return state === "auth-required" ? "working" : STATES[state].mcp;
  }

  get message(): string | undefined {
    const { message } = this.#task.status;
    return (message && textOf(message.parts)) || undefined;
  }

  get createdAt(): string {
    return new Date(this.#live.createdAt).toISOString();
  }

  get updatedAt(): string {
    return this.#task.status.timestamp ?? this.createdAt;
  }

  get endedAt(): string | undefined {
    return STATES[this.#task.status.state].isFinal ? this.updatedAt : undefined;
  }

  get ttl(): number {
    return ttlOf(this, this.#handler.ttl);
  }

  get questions(): ReadonlyMap<string, InputRequest> {
    const { status } = this.#task;
    if (status.state !== "input-required") return new Map();
    const message = this.message ?? "The agent needs more input.";
    const requestedSchema = formOf(status.message) ?? ANSWER_SCHEMA;
    return new Map([
      [this.#key, { method: "elicitation/create", params: { message, requestedSchema } }],
    ]);
  }

  get end(): TaskEnd | undefined {
    const { state } = this;
    if (state === "completed") return toEnd(Answer.result({ content: contentOf(this.#task) }));
    if (state !== "failed") return undefined;
    return toEnd(new GatewayError("upstream_error", this.message ?? "The task failed."));
  }

  async cancel(): Promise<void> {
    if (this.endedAt === undefined) await this.#handler.cancel(this.id, this.#principal);
  }

  answer(responses: Json): void {
    const response = responses[this.#key];
    const { status, contextId } = this.#task;
    if (status.state !== "input-required" || !isObject(response)) return;
    const parts = partsOf(response, formOf(status.message) !== undefined);
    const message: Message = { messageId: randomUUID(), role: "user", parts, taskId: this.id };
    const given = contextId === undefined ? message : { ...message, contextId };
    // It may have ended, or been answered at another place, meanwhile.
    this.#handler.send(given, { principal: this.#principal }).catch(() => {});
  }

  watch(listener: () => void): () => void {
    return this.#handler.watchAll(
      ({ id }, _event, { ref }) => id === this.id && ref === this.#principal.ref && listener(),
    );
  }

  get #task(): Task {
    return this.#live.task;
  }

  /** Each question is another entry of the history. */
  get #key(): string {
    return `input-${this.#task.history?.length ?? 0}`;
  }
}

/** Some agents say it in the last status, and make no artifact. */
function contentOf({ artifacts = [], status }: Task): Json[] {
  const parts = artifacts.flatMap((artifact) => artifact.parts);
  return (parts.length > 0 ? parts : (status.message?.parts ?? [])).map(toContent);
}

/** The schema of the answer, where a question has one. */
function formOf(question: Message | undefined): Json | undefined {
  const part = question?.parts.find(({ mediaType }) => mediaType === SCHEMA_TYPE);
  return isObject(part?.data) ? part.data : undefined;
}

/** The result of an elicitation as a message: the fields of a form, else the words; or that there is no answer. */
function partsOf({ action, content }: Json, isForm: boolean): Message["parts"] {
  if (action !== "accept") return [{ text: action === "decline" ? "decline" : "cancel" }];
  const fields = isObject(content) ? content : {};
  const { answer } = fields;
  return !isForm && typeof answer === "string" ? [{ text: answer }] : [{ data: fields }];
}
