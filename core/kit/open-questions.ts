import { GatewayError } from "./errors.ts";
import type { Json } from "./types.ts";
import { isObject } from "./json.ts";

/** Questions that one call may have open: a server that asks without end must not fill the gateway. */
const MAX_OPEN = 100;

/**
 * Why a question that its server withdrew has no answer.
 *
 * @example signal.addEventListener("abort", () => reject(WITHDRAWN_QUESTION));
 */
export const WITHDRAWN_QUESTION = new GatewayError(
  "cancelled",
  "The server withdrew its question.",
);

/**
 * Refuses one question too many.
 *
 * @example const refusal = tooManyQuestions(open.size);
 */
export function tooManyQuestions(open: number): GatewayError | undefined {
  if (open < MAX_OPEN) return undefined;
  return new GatewayError(
    "rate_limited",
    `A call may have ${MAX_OPEN} open questions to its client.`,
  );
}

/**
 * Refuses a question that the client cannot be asked.
 *
 * @param missing the capability, as the client would declare it
 * @example throw notOffered("roots/list", { roots: {} });
 */
export function notOffered(method: string, missing: Json): GatewayError {
  return new GatewayError("invalid", `The client does not offer ${method}.`, {
    data: { requiredCapabilities: missing },
  });
}

/** A question to a client. */
interface Question {
  readonly method: string;
  readonly params: Json | undefined;
  resolve(response: Json): void;
  reject(error: Error): void;
}

/**
 * Questions of one call whose client is told of them when it asks, and answers them by their keys. A key is used once.
 *
 * @example
 * const questions = new OpenQuestions(() => show(questions.open));
 * const response = await questions.ask("elicitation/create", params);
 */
export class OpenQuestions {
  readonly #open = new Map<string, Question>();
  readonly #onWithdraw: () => void;
  readonly #prefix: string;
  #asked = 0;

  /**
   * @param onWithdraw called when one is open no more that was not answered
   * @param prefix how its keys begin; another for questions of the same call in another process
   */
  constructor(onWithdraw: () => void, prefix = "input") {
    this.#onWithdraw = onWithdraw;
    this.#prefix = prefix;
  }

  /** Those without an answer, by key. */
  get open(): ReadonlyMap<string, { readonly method: string; readonly params: Json | undefined }> {
    return this.#open;
  }

  /**
   * Opens one.
   *
   * @param signal withdraws it
   * @throws {GatewayError} `rate_limited` for one too many; `cancelled`
   */
  ask(method: string, params: Json | undefined, signal?: AbortSignal): Promise<Json> {
    const refusal = tooManyQuestions(this.#open.size);
    if (refusal) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      const key = `${this.#prefix}-${++this.#asked}`;
      this.#open.set(key, { method, params, resolve, reject });
      signal?.addEventListener("abort", () => this.#withdraw(key), { once: true });
    });
  }

  /** Takes answers; keys that are not open are passed over. */
  settle(responses: unknown): void {
    for (const [key, response] of Object.entries(isObject(responses) ? responses : {})) {
      const question = this.#open.get(key);
      if (question === undefined || !isObject(response)) continue;
      this.#open.delete(key);
      question.resolve(response);
    }
  }

  /** Ends all without an answer. */
  reject(error: Error): void {
    const all = [...this.#open.values()];
    this.#open.clear();
    for (const question of all) question.reject(error);
  }

  #withdraw(key: string): void {
    const question = this.#open.get(key);
    if (!question) return;
    this.#open.delete(key);
    question.reject(WITHDRAWN_QUESTION);
    this.#onWithdraw();
  }
}
