import { randomUUID } from "node:crypto";
import { GatewayError, toGatewayError, type ErrorCode } from "../errors.ts";
import type { Unsubscribe } from "./driver.ts";
import type { StoreConnection } from "./connection.ts";
import type { Replicas } from "./replicas.ts";
import { StoreTopic } from "./topic.ts";

/** Longest piece of a message, in UTF-16 code units: with what is round it, below what a topic carries. */
const PIECE = 2_000;
/** How often an answer shows that it is still being made, in milliseconds. */
const BEAT_MS = 1_000;
/** Without a sign for so long whoever was asked counts as gone, in milliseconds. */
const SILENCE_MS = 5 * BEAT_MS;
/** Questions that one gateway answers at a time; more are refused. */
const MAX_QUESTIONS = 1_000;
/** Longest question, in UTF-16 code units. */
const MAX_TEXT = 1_000_000;
/** What of an answer may wait for a slow reader, in UTF-16 code units. */
const MAX_WAITING = 4_000_000;

/** What gateways send each other. Texts longer than a piece come as several: all but the last with `more`, and all but the first of a question with `rest`. */
type Message = AskMessage | AnswerMessage;

interface AskMessage {
  readonly id: string;
  readonly ask: string;
  readonly text: string;
  readonly more?: true;
  readonly rest?: true;
}

type AnswerMessage = { readonly id: string } & (
  | { readonly part: string; readonly more?: true }
  | { readonly beat: true }
  | { readonly end: true }
  | { readonly error: { readonly code: ErrorCode; readonly message: string } }
  | { readonly cancel: true }
);

/** A question this gateway was asked. */
interface Question {
  readonly end: AbortController;
  text: string;
  /** When a piece of it came last, by `performance.now()`. */
  heardAt: number;
  /** Whether all of it is there. */
  isWhole: boolean;
}

/** Somebody of this gateway who waits for an answer. */
interface Waiting {
  push(message: Message): void;
}

type Handler = (body: never, signal: AbortSignal) => AsyncIterable<unknown>;

/** Requests from one gateway of a store to another, over their topics. */
export class Asking {
  readonly #connection: StoreConnection;
  readonly #handlers = new Map<string, Handler>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #questions = new Map<string, Question>();
  #listening: Promise<unknown> | undefined;

  readonly #replicas: Pick<Replicas, "whenGone">;

  constructor(connection: StoreConnection, replicas: Pick<Replicas, "whenGone">) {
    this.#connection = connection;
    this.#replicas = replicas;
  }

  async answer(topic: string, handler: Handler): Promise<Unsubscribe> {
    await this.#listen();
    this.#handlers.set(topic, handler);
    return () => {
      // A reload sets up the next one before it ends this one.
      if (this.#handlers.get(topic) === handler) this.#handlers.delete(topic);
    };
  }

  async *ask<T>(
    replica: string,
    topic: string,
    body: unknown,
    signal: AbortSignal,
  ): AsyncIterable<T> {
    await this.#listen();
    const id = randomUUID();
    const inbox = new Inbox();
    this.#waiting.set(id, inbox);
    const stop = this.#replicas.whenGone(replica, () => inbox.close());
    let isOver = false;
    try {
      for (const piece of pieces(JSON.stringify(body ?? null)))
        await this.#send(replica, { id, ask: topic, ...piece });
      let text = "";
      for (;;) {
        const message = await inbox.next(signal);
        if ("part" in message) {
          text += message.part;
          if (message.more) continue;
          yield JSON.parse(text) as T;
          text = "";
        } else if ("end" in message || "error" in message) {
          isOver = true;
          if ("end" in message) return;
          throw new GatewayError(message.error.code, message.error.message);
        }
      }
    } finally {
      this.#waiting.delete(id);
      stop();
      if (!isOver) await this.#send(replica, { id, cancel: true }).catch(() => {});
    }
  }

  /** One subscription for all, made with the first use. */
  #listen(): Promise<unknown> {
    this.#listening ??= this.#topic(this.#connection.replica)
      .subscribe((message, from) => this.#receive(message, from))
      .catch((error: unknown) => {
        this.#listening = undefined;
        throw error;
      });
    return this.#listening;
  }

  #receive(message: Message, from: string): void {
    if ("cancel" in message) this.#cancel(message.id);
    else if ("ask" in message) this.#collect(message, from);
    else this.#waiting.get(message.id)?.push(message);
  }

  #cancel(id: string): void {
    const question = this.#questions.get(id);
    question?.end.abort();
    if (question?.isWhole === false) this.#questions.delete(id);
  }

  #collect({ id, ask, text, more, rest }: AskMessage, from: string): void {
    const question = rest ? this.#questions.get(id) : this.#begin(id);
    // The rest of one that was refused is no question of its own.
    if (!question)
      return rest ? undefined : this.#refuse(id, from, "The gateway that was asked is busy.");
    question.text += text;
    question.heardAt = performance.now();
    if (question.text.length > MAX_TEXT) {
      this.#questions.delete(id);
      return this.#refuse(id, from, "The question is too long.");
    }
    if (more) return;
    question.isWhole = true;
    void this.#reply(id, from, ask, question).finally(() => this.#questions.delete(id));
  }

  /** @returns `undefined` when there are too many */
  #begin(id: string): Question | undefined {
    if (this.#questions.size >= MAX_QUESTIONS) this.#dropAbandoned();
    if (this.#questions.size >= MAX_QUESTIONS) return undefined;
    const question = { end: new AbortController(), text: "", heardAt: 0, isWhole: false };
    this.#questions.set(id, question);
    return question;
  }

  /** Whoever asked may have died over it. */
  #dropAbandoned(): void {
    const before = performance.now() - SILENCE_MS;
    for (const [id, { isWhole, heardAt }] of this.#questions)
      if (!isWhole && heardAt < before) this.#questions.delete(id);
  }

  #refuse(id: string, to: string, message: string): void {
    this.#send(to, { id, error: { code: "unavailable", message } }).catch(() => {});
  }

  async #reply(id: string, to: string, topic: string, { text, end }: Question): Promise<void> {
    const beat = setInterval(
      () => void this.#send(to, { id, beat: true }).catch(() => {}),
      BEAT_MS,
    );
    beat.unref();
    try {
      const handler = this.#handlers.get(topic);
      if (!handler) return this.#refuse(id, to, "The gateway that was asked does not answer this.");
      const signal = AbortSignal.any([end.signal, this.#connection.closed]);
      for await (const part of handler(JSON.parse(text) as never, signal)) {
        if (signal.aborted) return;
        for (const { text: piece, more } of pieces(JSON.stringify(part ?? null)))
          await this.#send(to, { id, part: piece, ...(more && { more }) });
      }
      await this.#send(to, { id, end: true });
    } catch (thrown) {
      const { code, message } = toGatewayError(thrown);
      await this.#send(to, { id, error: { code, message } }).catch(() => {});
    } finally {
      clearInterval(beat);
    }
  }

  #send(replica: string, message: Message): Promise<void> {
    return this.#topic(replica).publish(message);
  }

  #topic(replica: string): StoreTopic<Message> {
    return new StoreTopic(this.#connection, `core/ask/${replica}`);
  }
}

function* pieces(text: string): Iterable<Pick<AskMessage, "text" | "more" | "rest">> {
  for (let begin = 0; begin === 0 || begin < text.length; begin += PIECE)
    yield {
      text: text.slice(begin, begin + PIECE),
      ...(text.length > begin + PIECE && { more: true }),
      ...(begin > 0 && { rest: true }),
    };
}

/** Messages in order, for one reader. */
class Inbox {
  readonly #messages: Message[] = [];
  #size = 0;
  #wake = (): void => {};
  #isClosed = false;

  /** Nothing more comes. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  push(message: Message): void {
    // A sign of life for nobody who waits.
    if ("beat" in message && this.#messages.length > 0) return;
    this.#size += sizeOf(message);
    if (this.#isTooMuch) this.#messages.length = 0;
    else this.#messages.push(message);
    this.#wake();
  }

  /** @throws {GatewayError} `unavailable` when nothing more comes, after a long silence, and when too much waits to be read; the signal's reason */
  async next(signal: AbortSignal): Promise<Message> {
    if (this.#messages.length === 0 && !this.#isClosed) await this.#wait(signal);
    signal.throwIfAborted();
    if (this.#isTooMuch) throw gone("The answer came faster than it was read.");
    const message = this.#messages.shift();
    if (message) {
      this.#size -= sizeOf(message);
      return message;
    }
    throw gone("The gateway that was asked is gone.");
  }

  get #isTooMuch(): boolean {
    return this.#size > MAX_WAITING;
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, SILENCE_MS);
      signal.addEventListener("abort", end, { once: true });
      this.#wake = end;
    });
  }
}

function sizeOf(message: Message): number {
  return "part" in message ? message.part.length : 0;
}

function gone(message: string): GatewayError {
  return new GatewayError("unavailable", message, { hint: "Make the request again." });
}
