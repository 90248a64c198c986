import { GatewayError, toGatewayError } from "propylon";
import { isObject } from "propylon/kit";
import type { Clock } from "../wire/clock.ts";
import type { Connection } from "./connection.ts";

/** Longest wait for the answer to a ping, in milliseconds. */
const ANSWER_MS = 10_000;
/** Missed answers in a row after which a connection is given up: idle, and while a call may keep the server from answering. */
const MISSES = { idle: 3, busy: 10 };

/** What a {@link Liveness} works with. */
export interface LivenessOptions {
  readonly connection: Connection;
  /** Milliseconds between pings. */
  readonly interval: number;
  readonly clock: Clock;
  /** {@link Liveness.problem} is a different one now. */
  changed(): void;
}

/** What a server is asked for that answers no ping: a list that it declares. */
const LISTS = ["tools", "prompts", "resources"] as const;

/**
 * Asks a server now and then whether it is still there: a child that hangs, or a server behind a connection that died without
 * a word, shows no other sign (MCP 2025-11-25 Ping; in the modern era `server/discover`). Any answer will do, and any message: a
 * server that works is not ended because it ignores pings. One that has never answered any is asked for a list.
 */
export class Liveness {
  readonly #options: LivenessOptions;
  /** What may be asked, the best first; one alone once that was answered. */
  #questions: readonly string[];
  /** Messages until the last round. */
  #heardBefore: number;
  #misses = 0;
  #problem: string | undefined;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(options: LivenessOptions) {
    this.#options = options;
    this.#questions = questionsFor(options.connection);
    this.#heardBefore = options.connection.heard;
    this.#wait();
  }

  /** Whether there is anything to ask: modern HTTP has no connection that could die, every request is one of its own. */
  static fits({ wire, handshake }: Connection): boolean {
    return wire.transport !== "streamable-http" || handshake?.era === "legacy";
  }

  /** Why the server seems to be gone, as a sentence. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** No more pings. */
  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  #wait(): void {
    this.#cancel = this.#options.clock.after(this.#options.interval, () => void this.#ping());
  }

  async #ping(): Promise<void> {
    const error = await this.#ask();
    if (this.#closed) return;
    const before = this.#heardBefore;
    this.#heardBefore = this.#options.connection.heard;
    if (error === undefined || this.#heardBefore > before) this.#heard();
    else this.#missed(error);
    if (!this.#closed) this.#wait();
  }

  /** Why the server answered nothing, if it did not. */
  async #ask(): Promise<GatewayError | undefined> {
    const { connection, interval } = this.#options;
    const timeout = Math.min(interval, ANSWER_MS);
    let first: GatewayError | undefined;
    for (const method of this.#questions) {
      try {
        await connection.request(method, method === "ping" ? undefined : {}, { timeout });
        this.#questions = [method];
        return undefined;
      } catch (thrown) {
        first ??= toGatewayError(thrown);
      }
      if (this.#closed) break;
    }
    return first;
  }

  #heard(): void {
    this.#misses = 0;
    this.#show(undefined);
  }

  #missed(error: GatewayError): void {
    const { connection } = this.#options;
    this.#misses++;
    if (this.#misses < (connection.inFlight === 0 ? MISSES.idle : MISSES.busy))
      return this.#show(`${error.message} It may hang.`);
    this.close();
    const reason = `Server "${connection.name}" gave no sign of life ${this.#misses} times in a row.`;
    connection.receiver.lost(
      new GatewayError("upstream_error", reason, { cause: error }),
      "finish",
    );
  }

  #show(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.changed();
  }
}

function questionsFor({ handshake }: Connection): readonly string[] {
  const ping = handshake?.era === "modern" ? "server/discover" : "ping";
  const list = LISTS.find((each) => isObject(handshake?.capabilities[each]));
  return list === undefined ? [ping] : [ping, `${list}/list`];
}
