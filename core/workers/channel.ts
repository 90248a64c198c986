import { GatewayError, isGatewayError, type ErrorCode, type Place } from "../kit/errors.ts";
import { parseExact, writeJson } from "../kit/exact-json.ts";

/** The process at the other end: `process` for a worker, the worker for the primary. */
export interface ChannelPort {
  send(text: string, sent: (error: Error | null) => void): unknown;
  on(event: "message", listener: (message: unknown) => void): unknown;
  on(event: "disconnect", listener: () => void): unknown;
}

/** What may wait to be written, in characters: an end that is stopped reads nothing. */
const MAX_UNSENT = 64 * 1024 * 1024;
/** Questions that may wait for their answer. */
const MAX_ASKED = 10_000;

/** An error on its way, so that it is the same at the other end. Its cause stays where it is. */
export interface Failure {
  readonly code?: ErrorCode;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly place?: Place | undefined;
}

type Message =
  | { readonly to: string; readonly id?: number; readonly body: unknown }
  | { readonly id: number; readonly value?: unknown; readonly failure?: Failure };

interface Asked {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

type Handler = (body: never) => unknown;

/** Questions, answers and news between the primary and one of its workers, as JSON, in the order in which they are sent. */
export class WorkerChannel {
  readonly #port: ChannelPort;
  readonly #handlers = new Map<string, Handler>();
  readonly #asked = new Map<number, Asked>();
  readonly #closed = new AbortController();
  #lastId = 0;
  #unsent = 0;

  constructor(port: ChannelPort) {
    this.#port = port;
    port.on("message", (message) => this.#receive(message));
    port.on("disconnect", () => this.#close());
  }

  /** Aborts when the other end is gone, or reads nothing any more. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Says who answers what is asked, and hears what is told, under a name. */
  answer(name: string, handler: Handler): void {
    this.#handlers.set(name, handler);
  }

  /** @throws {GatewayError} what the other end threw; `unavailable` when it is gone, or has too much to do */
  ask<T>(name: string, body?: unknown): Promise<T> {
    if (this.closed.aborted) return Promise.reject(gone());
    if (this.#asked.size >= MAX_ASKED) return Promise.reject(busy());
    const id = ++this.#lastId;
    return new Promise<T>((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#send({ to: name, id, body });
    });
  }

  /** Sends what needs no answer. */
  tell(name: string, body?: unknown): void {
    if (!this.closed.aborted) this.#send({ to: name, body });
  }

  #send(message: Message): void {
    const text = writeJson(message);
    this.#unsent += text.length;
    if (this.#unsent > MAX_UNSENT) return this.#close();
    this.#port.send(text, (error) => {
      this.#unsent -= text.length;
      if (error) this.#close();
    });
  }

  /** What others send through the same pipe, e.g. a plugin by `process.send`, is not for us. */
  #receive(received: unknown): void {
    const message = typeof received === "string" ? read(received) : undefined;
    if (!message) return;
    if ("to" in message) void this.#handle(message);
    else this.#settle(message);
  }

  async #handle({ to, id, body }: Extract<Message, { to: string }>): Promise<void> {
    try {
      const handler = this.#handlers.get(to);
      if (!handler) throw new GatewayError("unavailable", `Nobody answers "${to}" here.`);
      const value = await handler(body as never);
      if (id !== undefined && !this.closed.aborted) this.#send({ id, value });
    } catch (error) {
      if (id !== undefined && !this.closed.aborted) this.#send({ id, failure: toFailure(error) });
    }
  }

  #settle({ id, value, failure }: Extract<Message, { id: number }> & { value?: unknown }): void {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (failure) asked?.reject(toError(failure));
    else asked?.resolve(value as never);
  }

  #close(): void {
    if (this.closed.aborted) return;
    this.#closed.abort();
    for (const { reject } of this.#asked.values()) reject(gone());
    this.#asked.clear();
  }
}

function read(text: string): Message | undefined {
  try {
    const message = parseExact(text) as Message | null;
    const isOurs = typeof message === "object" && message !== null;
    return isOurs && ("to" in message || "id" in message) ? message : undefined;
  } catch {
    return undefined;
  }
}

/** An error as it travels. */
export function toFailure(thrown: unknown): Failure {
  if (!isGatewayError(thrown)) return { message: String((thrown as Error | null)?.message) };
  const { code, message, hint, data, place } = thrown;
  return { code, message, hint, data, place };
}

/** The error that was sent. */
export function toError({ code, message, hint, data, place }: Failure): Error {
  if (!code) return new Error(message);
  return new GatewayError(code, message, {
    ...(hint !== undefined && { hint }),
    ...(data && { data }),
    ...(place && { place }),
  });
}

function gone(): GatewayError {
  return new GatewayError("unavailable", "The other process of the gateway is gone.", {
    hint: "Try again in a few seconds.",
  });
}

function busy(): GatewayError {
  return new GatewayError("unavailable", "The other process of the gateway has too much to do.", {
    hint: "Try again in a few seconds.",
  });
}
