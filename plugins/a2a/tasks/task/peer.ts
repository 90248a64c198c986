import { GatewayError, type Json, type Peer } from "propylon";
import { partsOfForm, readAnswer } from "./form.ts";
import type { LiveTask } from "./live-task.ts";

/**
 * The sender of a task's messages, for tools that ask in the middle of a call (MCP elicitation): the question is the message of the
 * state `input-required`, and the next message of the task is its answer. One question is asked after the other.
 */
export class TaskPeer implements Peer {
  readonly key: string;
  readonly #task: LiveTask;
  readonly #asks: boolean;
  #asked: Promise<unknown> = Promise.resolve();

  /** @param options.asks whether the skill may ask at all */
  constructor(task: LiveTask, { key, asks }: { readonly key: string; readonly asks: boolean }) {
    this.#task = task;
    this.#asks = asks;
    this.key = key;
  }

  get capabilities(): Json {
    return this.#asks ? { elicitation: { form: {} } } : {};
  }

  /** The same peer by another key. */
  with(key: string): Peer {
    const { capabilities } = this;
    return { key, capabilities, ask: (...question) => this.ask(...question), tell: () => {} };
  }

  /** @throws {GatewayError} `invalid` for what cannot be asked of a sender; why the task ended; `cancelled` */
  ask(method: string, params: Json | undefined, signal?: AbortSignal): Promise<Json> {
    const refusal = this.#refusal(method, params);
    if (refusal !== undefined) return Promise.reject(new GatewayError("invalid", refusal));
    const answer = this.#asked.then(() => this.#ask(params ?? {}, signal));
    this.#asked = answer.catch(() => {});
    return answer;
  }

  /** A task shows no logs. */
  tell(): void {}

  #refusal(method: string, params: Json | undefined): string | undefined {
    if (method !== "elicitation/create") return `Nobody can answer ${method} in a task.`;
    if (params?.["mode"] === "url") return "A task cannot send anybody to a URL.";
    return this.#asks ? undefined : "The skill of this task may not ask.";
  }

  /** Until the answer is one. */
  async #ask(params: Json, signal: AbortSignal | undefined): Promise<Json> {
    for (let objection = ""; ;) {
      const message = await this.#task.ask(partsOfForm(params, objection), signal);
      const answer = readAnswer(message.parts, params);
      if (typeof answer !== "string") return answer;
      objection = answer;
    }
  }
}
