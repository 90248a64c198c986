import { randomUUID } from "node:crypto";
import { isGatewayError } from "propylon";
import { backoffDelay, pause } from "propylon/kit";

const RETRY_MS = { initial: 500, max: 30_000 };
/** Characters that may wait, over all outboxes: a number of notifications is not a bound where one holds a whole artifact. */
const ROOM = 64 * 1024 * 1024;
/** Statuses below 500 that may be different next time (RFC 9110, RFC 8470, RFC 6585). */
const PASSING_STATUS = new Set([408, 425, 429]);

/** One notification. */
export interface PushNotification {
  readonly body: string;
  /** Whether it tells of the end of a task: it is never left out. */
  readonly isLast: boolean;
  /** Which status of the task it tells of, if it does: the replica that goes on with the task need not tell it again. */
  readonly status?: string | undefined;
  /** The same for every attempt, whichever replica makes it. Default: made up. */
  readonly id?: string;
}

/** What all outboxes share. */
export interface OutboxLimits {
  /** Notifications that wait, over all outboxes. */
  waiting: number;
  /** Characters of them. */
  size: number;
  readonly most: number;
  readonly retries: number;
  /** Told of each notification once. */
  report(outcome: "delivered" | "failed" | "dropped", reason?: string): void;
}

/** Posts once and tells the status of the answer. */
export type Post = (
  notification: { readonly body: string; readonly id: string },
  signal: AbortSignal,
) => Promise<number>;

/** The notifications for one URL about one task, delivered one after the other in their order. */
export class Outbox {
  readonly #limits: () => OutboxLimits;
  readonly #post: Post;
  readonly #ended: (notification: PushNotification) => void;
  readonly #waiting: PushNotification[] = [];
  readonly #closing = new AbortController();
  #work: Promise<void> | undefined;

  /**
   * @param limits read at each step, since a reload changes the limits
   * @param ended hears of each that was delivered or failed for good; not of what a shutdown left
   */
  constructor(
    limits: () => OutboxLimits,
    post: Post,
    ended: (notification: PushNotification) => void = () => {},
  ) {
    this.#limits = limits;
    this.#post = post;
    this.#ended = ended;
  }

  /** Takes a notification; drops it when too many wait, unless it is the last. */
  put(notification: PushNotification): void {
    const limits = this.#limits();
    if (this.#closing.signal.aborted) return;
    const isFull = limits.waiting >= limits.most || limits.size + notification.body.length > ROOM;
    if (isFull && !notification.isLast) return limits.report("dropped");
    limits.waiting++;
    limits.size += notification.body.length;
    this.#waiting.push(notification);
    this.#work ??= this.#deliverAll();
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#work;
  }

  /** Gives up what waits. */
  close(): void {
    for (const notification of this.#waiting.splice(0)) this.#release(notification);
    this.#closing.abort();
  }

  async #deliverAll(): Promise<void> {
    for (
      let notification = this.#waiting.shift();
      notification;
      notification = this.#waiting.shift()
    ) {
      await this.#deliver(notification);
      this.#release(notification);
    }
    this.#work = undefined;
  }

  #release({ body }: PushNotification): void {
    const limits = this.#limits();
    limits.waiting--;
    limits.size -= body.length;
  }

  async #deliver(notification: PushNotification): Promise<void> {
    const { body, id = randomUUID() } = notification;
    for (let attempt = 0; ; attempt++) {
      const { isDelivered, mayRetry, reason } = await this.#attempt({ body, id });
      const limits = this.#limits();
      if (!isDelivered && this.#closing.signal.aborted) return limits.report("dropped");
      if (isDelivered || !mayRetry || attempt >= limits.retries) {
        this.#ended(notification);
        return limits.report(isDelivered ? "delivered" : "failed", reason);
      }
      await pause(backoffDelay(attempt + 1, RETRY_MS), this.#closing.signal);
    }
  }

  async #attempt(
    notification: Parameters<Post>[0],
  ): Promise<{ isDelivered: boolean; mayRetry: boolean; reason: string }> {
    try {
      const status = await this.#post(notification, this.#closing.signal);
      const isDelivered = status >= 200 && status < 300;
      const mayRetry = status >= 500 || PASSING_STATUS.has(status);
      return { isDelivered, mayRetry, reason: `status ${status}` };
    } catch (error) {
      return { isDelivered: false, mayRetry: !isGatewayError(error), reason: reasonOf(error) };
    }
  }
}

/** A code, or a sentence of ours: messages of sockets and parsers may hold the URL, which may hold a secret. */
function reasonOf(error: unknown): string {
  if (isGatewayError(error)) return error.message;
  const { code, name } = error as { code?: unknown; name?: unknown };
  return [code, name].find((word) => typeof word === "string") ?? "unknown";
}
