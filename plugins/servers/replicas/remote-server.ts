import { randomUUID } from "node:crypto";
import {
  type Answer,
  type Call,
  GatewayError,
  isGatewayError,
  type Json,
  toGatewayError,
} from "propylon";
import {
  FIRST_PROBLEM,
  pause,
  type ProbeReport,
  Semaphore,
  setTimer,
  timeoutSignal,
  writeJson,
} from "propylon/kit";
import { abortableOf, abortError, keepError, restoreError } from "propylon/internal";
import { ASK_TIMEOUTS, isUnheard, type Store } from "propylon/store";
import type { FollowMessage } from "./relay-followers.ts";
import {
  type CallMessage,
  callMessageSchema,
  type RelayQuestion,
  RELAY_TOPIC,
  toAnswer,
  toRelayed,
} from "./relay.ts";

/** Wait before a replica that could not be followed is followed again, in milliseconds. */
const RETRY_MS = 250;
/** Wants of clients told at a time. There may be thousands after a move, and a replica refuses questions beyond its bound. */
const MAX_WANTS = 16;
/** Longest question, in characters of JSON; the store's bound is a little higher. */
const MAX_TEXT = 900_000;

/** What is left of a question when the server and its lease are added by who asks. */
type Asked = RelayQuestion extends infer Q
  ? Q extends RelayQuestion
    ? Omit<Q, "server" | "fence">
    : never
  : never;

type AnswerQuestion = Extract<Asked, { verb: "answer" }>;

/** What a {@link RemoteServer} works with. */
export interface RemoteOptions {
  readonly name: string;
  readonly store: Store;
  /** The replica that runs it, and the fence of its lease. */
  readonly replica: string;
  readonly fence: number;
  /** Deepest accepted nesting of an answer. */
  readonly maxDepth: number;
  /** What the other replica tells of the server. */
  hear(message: FollowMessage): void;
  /** It is followed from now on, and knows nothing of what clients here want. */
  followed(): void;
  /** It cannot be followed now. */
  lost(): void;
}

/** Whether an error says that the asked replica does not run the server, so that nothing was done. */
export function isNotThere(error: unknown): boolean {
  return error instanceof NotThere;
}

class NotThere extends Error {}

/** A server that another replica of the store runs, for as long as that one does. */
export class RemoteServer {
  readonly #options: RemoteOptions;
  /** This replica, as one that follows. */
  readonly #id = randomUUID();
  readonly #closed = new AbortController();
  readonly #running = new Set<AbortController>();
  /** Of those who tell what clients want. */
  readonly #turns = new Semaphore(MAX_WANTS);

  constructor(options: RemoteOptions) {
    this.#options = options;
    void this.#follow();
  }

  /** @throws {NotThere}; what the call's server, or its replica, says */
  request(call: Call): Promise<Answer> {
    return this.#run(call, undefined);
  }

  resume(call: Call, task: string): Promise<Answer> {
    return this.#run(call, task);
  }

  async reconnect(): Promise<void> {
    await this.#tell({ verb: "reconnect" });
  }

  async probe(signal: AbortSignal): Promise<ProbeReport> {
    for await (const report of this.#ask<ProbeReport>({ verb: "probe" }, signal)) return report;
    throw new NotThere();
  }

  /** Clients here want to hear of something, or no more. @throws {NotThere}; {GatewayError} what the server says */
  async want(what: Omit<Extract<Asked, { verb: "want" }>, "verb" | "id">): Promise<void> {
    const end = await this.#turns.take(this.#closed.signal).catch(() => {
      throw new NotThere();
    });
    try {
      await this.#tell({ verb: "want", id: this.#id, ...what });
    } finally {
      end();
    }
  }

  /**
   * Another one runs it, or none.
   * @param reason what calls that run there end with
   * @param patience milliseconds that their answers may still take: the word of a move may come before the last of them
   */
  close(reason: GatewayError, patience: number): void {
    this.#closed.abort(reason);
    const end = (): void => {
      for (const running of this.#running) running.abort(reason);
    };
    if (patience === 0) end();
    else setTimer(end, patience).unref();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closed;
    const options = this.#options;
    while (!signal.aborted) {
      try {
        let isFirst = true;
        const question: Asked = { verb: "follow", id: this.#id };
        for await (const message of this.#ask<FollowMessage>(question, signal)) {
          if (signal.aborted) return;
          options.hear(message);
          if (isFirst) options.followed();
          isFirst = false;
        }
      } catch {
        // Whether it is gone, the record tells.
      }
      if (signal.aborted) return;
      options.lost();
      await pause(RETRY_MS, signal);
    }
  }

  async #run(call: Call, task: string | undefined): Promise<Answer> {
    const end = new AbortController();
    const watched = abortableOf(call);
    if (watched.aborted) throw abortError(watched);
    const cancel = (): void => end.abort(abortError(watched));
    watched.addEventListener("abort", cancel, { once: true });
    this.#running.add(end);
    const client = new RelayedClient(call, (answer) => this.#answer(answer));
    try {
      return await this.#exchange(call, { task, client, signal: end.signal });
    } catch (error) {
      throw end.signal.aborted ? end.signal.reason : error;
    } finally {
      client.close();
      this.#running.delete(end);
      watched.removeEventListener("abort", cancel);
    }
  }

  async #exchange(
    call: Call,
    {
      task,
      client,
      signal,
    }: {
      readonly task: string | undefined;
      readonly client: RelayedClient;
      readonly signal: AbortSignal;
    },
  ): Promise<Answer> {
    const { maxDepth } = this.#options;
    const { id } = client;
    const question: Asked = { verb: "call", id, call: toRelayed(call), task };
    let outcome: Answer | GatewayError | undefined;
    for await (const message of this.#ask(question, signal)) {
      const read = callMessageSchema.parse(message, FIRST_PROBLEM);
      if ("answer" in read) outcome = toAnswer(read.answer, maxDepth);
      else if ("error" in read) outcome = restoreError(read.error);
      else client.hear(read);
    }
    if (outcome === undefined)
      throw new GatewayError("unavailable", "The replica that runs the server gave no answer.");
    if (isGatewayError(outcome)) throw outcome;
    return outcome;
  }

  async #answer(answer: AnswerQuestion): Promise<void> {
    await this.#tell(answer).catch((error: unknown) => {
      const { id, key } = answer;
      return this.#tell({ verb: "answer", id, key, error: keepError(toGatewayError(error)) });
    });
  }

  async #tell(question: Asked): Promise<void> {
    for await (const _ of this.#ask(question, timeoutSignal(ASK_TIMEOUTS.serve)));
  }

  /** @throws {NotThere}; {GatewayError} `too_large` */
  async *#ask<T>(asked: Asked, signal: AbortSignal): AsyncIterable<T> {
    const { store, replica, name: server, fence } = this.#options;
    const question = { ...asked, server, fence };
    if (writeJson(question).length > MAX_TEXT)
      throw new GatewayError(
        "too_large",
        `The request to server "${server}" is too large: another replica runs it.`,
        { hint: `Send less than ${MAX_TEXT} characters.` },
      );
    let isDone = false;
    try {
      for await (const answer of store.ask<T>(replica, RELAY_TOPIC, question, signal)) {
        isDone = true;
        yield answer;
      }
    } catch (error) {
      // Before anything else it looks whether it runs it; what a server says comes as an answer.
      const isUnknown = isGatewayError(error) && error.code === "not_found";
      if (!isDone && (isUnknown || isUnheard(error))) throw new NotThere();
      throw error;
    }
  }
}

/** The client of a call that another replica runs. */
class RelayedClient {
  /** Of the call, among those of that replica. */
  readonly id = randomUUID();
  readonly #call: Call;
  readonly #answer: (answer: AnswerQuestion) => Promise<void>;
  readonly #asked = new Map<string, AbortController>();

  constructor(call: Call, answer: (answer: AnswerQuestion) => Promise<void>) {
    this.#call = call;
    this.#answer = answer;
  }

  /** What comes before the end. */
  hear(message: Exclude<CallMessage, { answer: string } | { error: unknown }>): void {
    const { peer, progress } = this.#call;
    if ("progress" in message) progress?.(message.progress);
    else if ("tell" in message) peer.tell(message.tell.method, message.tell.params);
    else if ("withdraw" in message) this.#asked.get(message.withdraw)?.abort();
    else if ("keep" in message) {
      const { key, task } = message.keep;
      this.#reply(
        key,
        (peer.keepTask?.(task) ?? Promise.resolve()).then(() => ({})),
      );
    } else {
      const { key, method, params } = message.ask;
      const withdrawn = new AbortController();
      this.#asked.set(key, withdrawn);
      this.#reply(key, peer.ask(method, params, withdrawn.signal));
    }
  }

  /** The call is over. */
  close(): void {
    for (const withdrawn of this.#asked.values()) withdrawn.abort();
  }

  #reply(key: string, outcome: Promise<Json>): void {
    const { id } = this;
    const reply = outcome.then(
      (result) => ({ verb: "answer" as const, id, key, result }),
      (error: unknown) => ({
        verb: "answer" as const,
        id,
        key,
        error: keepError(toGatewayError(error)),
      }),
    );
    void reply
      .then((answer) => {
        // One that was withdrawn has no use for it.
        const isWithdrawn = this.#asked.get(key)?.signal.aborted === true;
        this.#asked.delete(key);
        return isWithdrawn ? undefined : this.#answer(answer);
      })
      .catch(() => {});
  }
}
