import { boundedRecord } from "../kit/bounded-record.ts";
import { parseExact, writeJson } from "../kit/exact-json.ts";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { GatewayError, toGatewayError } from "../kit/errors.ts";
import { restoreError } from "../kit/kept.ts";
import { pause } from "../kit/timers.ts";
import {
  type AskMessage,
  BEAT_MS,
  isMessage,
  MAX_BEATS,
  type Message,
  pieces,
  SILENCE_MS,
} from "./ask-message.ts";
import type { Unsubscribe } from "./driver.ts";
import type { StoreConnection } from "./connection.ts";
import { gone, Inbox } from "./inbox.ts";
import { StoreKv } from "./kv.ts";
import type { Replicas } from "./replicas.ts";
import { StoreTopic } from "./topic.ts";

/** Questions that one replica answers at a time; more are refused. */
const MAX_QUESTIONS = 1_000;
/** Longest question, in UTF-16 code units. */
const MAX_TEXT = 1_000_000;
/** Replicas of which it is known what was heard of each last. One that heard more in its life says nothing of it when it leaves. */
const MAX_ASKERS = 1_000;
/** How long it is known what a replica had heard before it left, in milliseconds. */
const LEFT_MS = 60_000;
/** How long the last answers of one that left may take, in milliseconds. */
const LATE_MS = 500;

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

/** What a replica leaves behind: the last question of each other one that it heard. It begins none that comes later. */
const leftSchema = z.object({ heard: boundedRecord(z.string(), z.number(), 10_000) });

class Unheard extends GatewayError {}

/**
 * Whether an `ask` failed because the replica had left before the question reached it, or does not answer such questions: nothing was
 * carried out, so another replica may be asked.
 *
 * @example if (isUnheard(error)) return askTheNext();
 */
export function isUnheard(error: unknown): boolean {
  return error instanceof Unheard;
}

/** Requests from one replica of a store to another, over their topics. */
export class Asking {
  readonly #connection: StoreConnection;
  readonly #handlers = new Map<string, Handler>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #questions = new Map<string, Question>();
  readonly #replicas: Pick<Replicas, "whenGone">;
  readonly #left: StoreKv<z.output<typeof leftSchema>>;
  /** The last question of each replica that was heard here. */
  readonly #heard = new Map<string, number>();
  #listening: Promise<unknown> | undefined;
  /** Questions of this gateway until now. */
  #count = 0;
  #hasLeft = false;

  constructor(connection: StoreConnection, replicas: Pick<Replicas, "whenGone">) {
    this.#connection = connection;
    this.#replicas = replicas;
    const options = { ttl: LEFT_MS, schema: leftSchema };
    this.#left = new StoreKv(connection, "core/left", options, () => {});
    // Not a signal of both for each question: the one that lives longer would keep something of all of them.
    connection.closed.addEventListener("abort", () => {
      for (const { end } of this.#questions.values()) end.abort();
    });
  }

  /** Begins no question any more, and tells which were heard. To be called before the gateway is seen to have left. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    if (!this.#listening || this.#heard.size > MAX_ASKERS) return;
    await this.#left.put(this.#connection.replica, { heard: Object.fromEntries(this.#heard) });
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
    const place = ++this.#count;
    const inbox = new Inbox();
    this.#waiting.set(id, inbox);
    const stop = this.#replicas.whenGone(replica, () => void this.#end(inbox, replica, place));
    let isOver = false;
    try {
      for (const piece of pieces(writeJson(body ?? null)))
        await this.#send(replica, { id, place, ask: topic, ...piece });
      let text = "";
      for (;;) {
        const message = await inbox.next(signal);
        if ("part" in message) {
          text += message.part;
          if (message.more) continue;
          yield parseExact(text) as T;
          text = "";
        } else if ("end" in message || "error" in message) {
          isOver = true;
          if ("end" in message) return;
          const error = restoreError(message.error);
          throw message.isUnheard ? new Unheard(error.code, error.message) : error;
        }
      }
    } finally {
      this.#waiting.delete(id);
      stop();
      if (!isOver) await this.#send(replica, { id, cancel: true }).catch(() => {});
    }
  }

  /** Who was asked is gone. */
  async #end(inbox: Inbox, replica: string, place: number): Promise<void> {
    const left = await this.#left.get(replica).catch(() => undefined);
    if (!left) return inbox.close(gone());
    const { [this.#connection.replica]: last = 0 } = left.value.heard;
    if (place > last) return inbox.close(new Unheard("unavailable", gone().message));
    // It took part until it had answered: that may be behind the word that it left.
    await pause(LATE_MS, this.#connection.closed);
    inbox.close(gone());
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

  #receive(message: unknown, from: string): void {
    if (isMessage(message)) this.#take(message, from);
  }

  #take(message: Message, from: string): void {
    if ("cancel" in message) this.#cancel(message.id);
    else if ("ask" in message) this.#collect(message, from);
    else this.#waiting.get(message.id)?.push(message);
  }

  #cancel(id: string): void {
    const question = this.#questions.get(id);
    question?.end.abort();
    if (question?.isWhole === false) this.#questions.delete(id);
  }

  #collect({ id, place, ask, text, more, rest }: AskMessage, from: string): void {
    if (this.#hasLeft) return rest ? undefined : this.#refuse(id, from, gone().message, true);
    if (place !== undefined && this.#heard.size <= MAX_ASKERS)
      this.#heard.set(from, Math.max(place, this.#heard.get(from) ?? 0));
    const question = rest ? this.#questions.get(id) : this.#begin(id);
    // The rest of one that was refused is not a question of its own.
    if (!question)
      return rest ? undefined : this.#refuse(id, from, "The replica that was asked is busy.");
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

  /** The replica that asked may have died over it. */
  #dropAbandoned(): void {
    const before = performance.now() - SILENCE_MS;
    for (const [id, { isWhole, heardAt }] of this.#questions)
      if (!isWhole && heardAt < before) this.#questions.delete(id);
  }

  #refuse(id: string, to: string, message: string, isNotHere?: true): void {
    const error = { code: "unavailable", message } as const;
    this.#send(to, { id, error, ...(isNotHere && { isUnheard: true }) }).catch(() => {});
  }

  async #reply(id: string, to: string, topic: string, { text, end }: Question): Promise<void> {
    let beats = 0;
    let stop = (): void => {};
    const beat = setInterval(() => {
      void this.#send(to, { id, beat: true }).catch(() => {});
      if (++beats % MAX_BEATS > 0) return;
      // One that died cancels nothing, and no store says at once that its entry has ended.
      stop();
      stop = this.#replicas.whenGone(to, () => end.abort());
    }, BEAT_MS);
    beat.unref();
    try {
      const handler = this.#handlers.get(topic);
      if (!handler)
        return this.#refuse(id, to, "The replica that was asked does not answer this.", true);
      const { signal } = end;
      for await (const part of handler(parseExact(text) as never, signal)) {
        if (signal.aborted) return;
        for (const { text: piece, more } of pieces(writeJson(part ?? null)))
          await this.#send(to, { id, part: piece, ...(more && { more }) });
      }
      await this.#send(to, { id, end: true });
    } catch (thrown) {
      // Nobody hears what it would still say.
      end.abort();
      const { code, message } = toGatewayError(thrown);
      await this.#send(to, { id, error: { code, message } }).catch(() => {});
    } finally {
      clearInterval(beat);
      stop();
    }
  }

  #send(replica: string, message: Message): Promise<void> {
    return this.#topic(replica).publish(message);
  }

  #topic(replica: string): StoreTopic<Message> {
    return new StoreTopic(this.#connection, `core/ask/${replica}`);
  }
}
