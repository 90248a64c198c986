import { GatewayError, toGatewayError } from "propylon";
import type { Clock } from "./clock.ts";
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
  /** {@link Liveness.problem} is another one now. */
  changed(): void;
}

/**
 * Asks a server now and then whether it is still there: a child that hangs, or a server behind a connection that died without
 * a word, shows no other sign (MCP 2025-11-25 Ping; in the modern era `server/discover`). Any answer will do.
 */
export class Liveness {
  readonly #options: LivenessOptions;
  #misses = 0;
  #problem: string | undefined;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(options: LivenessOptions) {
    this.#options = options;
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
    const { connection, interval } = this.#options;
    const method = connection.handshake?.era === "modern" ? "server/discover" : "ping";
    const params = method === "ping" ? undefined : {};
    const timeout = Math.min(interval, ANSWER_MS);
    try {
      await connection.request(method, params, { timeout });
      if (!this.#closed) this.#heard();
    } catch (thrown) {
      if (!this.#closed) this.#missed(toGatewayError(thrown));
    }
    if (!this.#closed) this.#wait();
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
