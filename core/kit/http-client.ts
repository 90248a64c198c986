import type { Readable, Transform } from "node:stream";
import type { LookupFunction } from "node:net";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { Agent, Dispatcher } from "undici";
import { Pieces } from "./chunks.ts";
import { readTypedEvents, type ServerSentEvent } from "./events.ts";

const EVENTS = /^text\/event-stream\b/i;
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * How an {@link HttpClient} works.
 *
 * @example const options: HttpClientOptions = { maxResult: 1_048_576, network: (error) => networkFault(name, error), tooLarge };
 */
export interface HttpClientOptions {
  /** Largest body in bytes, uncompressed; of a stream of events the largest event. */
  readonly maxResult: number;
  /** Longest connect in milliseconds. Default 10 s. */
  readonly connectTimeout?: number;
  /** Most connections at a time. Default: any number. */
  readonly connections?: number;
  /** Finds the addresses of names, e.g. `AllowedAddresses.guard`; not asked for a URL with an address. Default: the system's. */
  readonly lookup?: LookupFunction;
  /** Makes the error for a failure of the network. */
  readonly network: (error: unknown) => Error;
  /** Makes the error for a body above the limit. */
  readonly tooLarge: (limit: number) => Error;
}

/**
 * A request of an {@link HttpClient}.
 *
 * @example const request: HttpClientRequest = { method: "POST", headers: { accept: "text/event-stream" }, body, signal };
 */
export interface HttpClientRequest {
  readonly method: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
  /** Ends the request, and the reading of its answer; nothing else does, since a task may take hours. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * HTTP to one agent, runtime or API: connections that are kept, bodies with a bound, and no redirect that is followed, which would
 * carry the request and its keys to somebody else.
 *
 * @example
 * const client = new HttpClient({ maxResult, network, tooLarge });
 * const reply = await client.send(new URL(url), { method: "GET", headers: {}, signal });
 * const body = await reply.bytes();
 */
export class HttpClient {
  readonly #options: HttpClientOptions;
  #agent: Promise<Agent> | undefined;

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  /** Gets ready for the first request, which need not wait for it then. */
  async open(): Promise<void> {
    await this.#open();
  }

  /**
   * Sends a request.
   *
   * @param target where to; a `path`, with its query, goes out as it is written
   * @throws what `network` makes; what aborted the signal
   */
  async send(
    target: URL | { readonly origin: string; readonly path: string },
    request: HttpClientRequest,
  ): Promise<HttpClientReply> {
    const { origin } = target;
    const path = "path" in target ? target.path : `${target.pathname}${target.search}`;
    const { method, headers, body = null, signal = null } = request;
    try {
      const agent = await this.#open();
      // Not `fetch`, which costs three times as much.
      const reply = await agent.request({ origin, path, method, headers, body, signal });
      return new HttpClientReply(reply, request, this.#options);
    } catch (error) {
      throw signal?.aborted ? signal.reason : this.#options.network(error);
    }
  }

  /** Ends at once. */
  async destroy(): Promise<void> {
    await (await this.#agent)?.destroy();
  }

  #open(): Promise<Agent> {
    return (this.#agent ??= openAgent(this.#options));
  }
}

/** undici is only loaded once there is somebody to talk to: it costs tens of milliseconds of a start. */
async function openAgent({
  connectTimeout = 10_000,
  connections,
  lookup,
}: HttpClientOptions): Promise<Agent> {
  const { Agent: UndiciAgent } = await import("undici");
  return new UndiciAgent({
    ...(connections !== undefined && { connections }),
    connect: { timeout: connectTimeout, ...(lookup && { lookup }) },
    // Its own are five minutes of silence, which a task may well take.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/**
 * What came back to a request of an {@link HttpClient}. Its body is read, or dropped.
 *
 * @example
 * if (reply.status !== 200) return reply.drop();
 * for await (const { data } of reply.events()) take(data);
 */
export class HttpClientReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly #body: Readable;
  readonly #request: HttpClientRequest;
  readonly #options: HttpClientOptions;

  constructor(
    reply: Dispatcher.ResponseData,
    request: HttpClientRequest,
    options: HttpClientOptions,
  ) {
    this.status = reply.statusCode;
    this.headers = reply.headers;
    this.#body = reply.body;
    this.#request = request;
    this.#options = options;
    // A body that nobody reads any more must not end the process with its error.
    this.#body.on("error", () => {});
  }

  /** Whether the body is a stream of events. */
  get isEvents(): boolean {
    return EVENTS.test(this.header("content-type"));
  }

  /** The first value of a header; empty when there is none. */
  header(name: string): string {
    return [this.headers[name] ?? ""].flat()[0]!;
  }

  /**
   * The whole body.
   *
   * @throws what `network` and `tooLarge` make; what aborted the signal
   */
  async bytes(): Promise<Buffer> {
    const { maxResult, tooLarge } = this.#options;
    const whole = await readUpTo(this.#chunks(), maxResult);
    if (whole) return whole;
    throw tooLarge(maxResult);
  }

  /**
   * The body as events. The limit is one of each of them, as a stream may tell of a task for hours; of all together where none were
   * asked for, or the status is an error.
   *
   * @throws what `network` and `tooLarge` make; what aborted the signal
   */
  events(): AsyncIterable<ServerSentEvent> {
    const { maxResult, tooLarge } = this.#options;
    const isAsked =
      this.status === 200 && this.#request.headers["accept"]?.includes("text/event-stream");
    const onExcess = (): Error => tooLarge(maxResult);
    if (isAsked) return readTypedEvents(this.#chunks(), maxResult, onExcess);
    return readTypedEvents(this.#bounded(), maxResult, onExcess);
  }

  /** Gives the body up, and the connection with it: the rest may never come. */
  drop(): void {
    this.#body.destroy();
  }

  async *#bounded(): AsyncIterable<Buffer> {
    const { maxResult, tooLarge } = this.#options;
    let size = 0;
    for await (const chunk of this.#chunks()) {
      size += chunk.length;
      if (size > maxResult) throw tooLarge(maxResult);
      yield chunk;
    }
  }

  async *#chunks(): AsyncIterable<Buffer> {
    const { signal } = this.#request;
    try {
      yield* this.#decoded() as AsyncIterable<Buffer>;
    } catch (error) {
      throw signal?.aborted ? signal.reason : this.#options.network(error);
    } finally {
      this.drop();
    }
  }

  #decoded(): Readable {
    const decode = DECODERS[this.header("content-encoding").toLowerCase()];
    if (!decode) return this.#body;
    const decoded = decode();
    this.#body.on("error", (error) => decoded.destroy(error));
    return this.#body.pipe(decoded);
  }
}

/**
 * The whole of a body, or nothing when it has more bytes than the limit; the rest is not read then.
 *
 * @example const body = await readUpTo(response.body, 1_048_576);
 */
export async function readUpTo(
  chunks: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Buffer | undefined> {
  const read = new Pieces();
  for await (const { buffer, byteOffset, byteLength } of chunks) {
    if (read.length + byteLength > limit) return undefined;
    read.add(Buffer.from(buffer, byteOffset, byteLength));
  }
  return Buffer.concat(read.take());
}
