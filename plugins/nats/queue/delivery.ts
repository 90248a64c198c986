import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { wholeDelay } from "propylon/internal";
import { factsOf, readHeaders } from "../link/facts.ts";

/** Longest wait for the confirmation of an ack, in milliseconds. */
const CONFIRM_MS = 5_000;

/**
 * One delivery of one message. Its receiver must {@link Delivery.keep keep} it until it is acked or given back.
 *
 * @example await delivery.ack();
 */
export interface Delivery {
  readonly data: Uint8Array;
  /** By the name they came under. */
  readonly headers: Readonly<Record<string, string>>;
  readonly subject: string;
  /** Place in the stream; with {@link storedAt} it names the message, however often it is delivered. */
  readonly sequence: number;
  /** When it was handed in, in milliseconds since 1970. */
  readonly storedAt: number;
  /** Counts deliveries, from 1. */
  readonly attempt: number;
  /** Says that somebody is still at it. Best effort, never throws. */
  keep(): void;
  /**
   * Done: it is never delivered again. Resolves when the queue has confirmed it.
   * @throws when the queue cannot be reached; may be called again
   */
  ack(): Promise<void>;
  /** Gives it back, to be delivered again after so many milliseconds. Best effort: without it that happens after `ackWait`. */
  giveBack(delay: number): void;
}

/**
 * The way back to the consumer: whatever connection there is by then, for the work on a message may outlive the one it came by.
 *
 * @example const line: Line = { connection: () => newest, isConnected: () => link.status.isConnected, onGone: () => link.verify() };
 */
export interface Line {
  /** The newest. */
  readonly connection: () => NatsConnection;
  readonly isConnected: () => boolean;
  /** The consumer does not answer: it may not be there any more. */
  readonly onGone: () => void;
}

/**
 * A message of a pull consumer. Its answers are written here and not left to the client, whose `ackAck` cannot be repeated when
 * the connection drops under it (JetStream wire API: +ACK, -NAK, +WPI to the reply subject).
 */
export class NatsDelivery implements Delivery {
  readonly data: Uint8Array;
  readonly headers: Delivery["headers"];
  readonly subject: string;
  readonly sequence: number;
  readonly storedAt: number;
  readonly attempt: number;
  readonly #line: Line;
  readonly #reply: string;

  constructor(message: Msg, line: Line) {
    this.data = message.data;
    this.subject = message.subject;
    this.headers = readHeaders(() => message.headers);
    this.#line = line;
    this.#reply = message.reply ?? "";
    const { attempt, sequence, storedAt } = factsOf(this.#reply);
    this.attempt = attempt;
    this.sequence = sequence;
    this.storedAt = storedAt;
  }

  keep(): void {
    this.#answer("+WPI");
  }

  async ack(): Promise<void> {
    try {
      await this.#line.connection().request(this.#reply, "+ACK", { timeout: CONFIRM_MS });
    } catch (error) {
      this.#line.onGone();
      throw error;
    }
  }

  giveBack(delay: number): void {
    // The server reads an int64: with a fraction, or in exponents, it would be no delay.
    const nanoseconds = BigInt(wholeDelay(delay)) * 1_000_000n;
    this.#answer(nanoseconds > 0n ? `-NAK {"delay":${nanoseconds}}` : "-NAK");
  }

  /** Not while the connection is down: the client would say it once it is back, when the task may be with somebody else. */
  #answer(word: string): void {
    if (!this.#line.isConnected()) return;
    try {
      this.#line.connection().publish(this.#reply, word);
    } catch {
      // The connection was closed: silence says the same after ackWait.
    }
  }
}
