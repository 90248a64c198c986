import { Readable } from "node:stream";
import { readInTurns, type Turns } from "propylon/internal";
import type { Dispatcher } from "undici";
import {
  type HttpPoolOptions,
  type HttpRequest,
  MAX_CONNECTIONS,
  type Pool,
  type ResponseReader,
} from "./http-pool.ts";

/**
 * HTTP to one origin on undici: for servers that have a `proxy`, as it knows CONNECT, proxies with a password and NO_PROXY, and for
 * all of them with `httpClient: undici`. Our own client costs less (0093).
 */
export class UndiciPool implements Pool {
  readonly #origin: string;
  /** Loads undici when a server asks for it: a start of the gateway need not wait for that. */
  readonly #create: () => Promise<Dispatcher>;
  #agent: Promise<Dispatcher>;
  /** Those that have requests under way and take no others. */
  readonly #retired = new Set<Promise<Dispatcher>>();

  /** @param proxy its URL, or `environment` for HTTP_PROXY, HTTPS_PROXY and NO_PROXY; default: none */
  constructor(
    url: URL,
    proxy: string | undefined,
    { timeout, lookup, secureContext }: HttpPoolOptions,
  ) {
    this.#origin = url.origin;
    const tls = secureContext && { secureContext };
    const options = {
      // Calls end by their own deadlines, and an event stream may be silent for hours.
      headersTimeout: 0,
      bodyTimeout: 0,
      connections: MAX_CONNECTIONS,
      connect: { timeout, ...(lookup && { lookup }), ...tls },
      requestTls: { timeout, ...tls },
      proxyTls: { timeout },
      // Many proxies tunnel to port 443 alone.
      proxyTunnel: url.protocol === "https:",
    };
    this.#create = async () => {
      const { Agent, EnvHttpProxyAgent, ProxyAgent } = await import("undici");
      if (proxy === undefined) return new Agent(options);
      return proxy === "environment"
        ? new EnvHttpProxyAgent(options)
        : new ProxyAgent({ ...options, uri: proxy });
    };
    this.#agent = this.#create();
  }

  dispatch(request: HttpRequest, reader: ResponseReader): void {
    const { path, method, headers, body, isFresh = false } = request;
    if (isFresh) this.#renew();
    const options = { origin: this.#origin, path, method, headers: [...headers], body };
    const handler = new ReaderHandler(reader, isFresh, () => this.#renew());
    this.#agent
      .then((agent) => agent.dispatch(options, handler))
      .catch((error: Error) => reader.onResponseError(error));
  }

  async destroy(): Promise<void> {
    const agents = await Promise.all([this.#agent, ...this.#retired]);
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  /** Takes no connection again that is there now: undici does not say which of them a response came on. */
  #renew(): void {
    const old = this.#agent;
    this.#agent = this.#create();
    this.#retired.add(old);
    void old
      .then((agent) => agent.close())
      .catch(() => {})
      .finally(() => this.#retired.delete(old));
  }
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Most bytes that wait for their reader where the response cannot be paused. */
const MAX_UNREAD = 16 * 1_048_576;

/** Tells a reader in the words of our own client what undici found; a body is read in turns. */
class ReaderHandler implements Dispatcher.DispatchHandler {
  readonly #reader: ResponseReader;
  readonly #isFresh: boolean;
  readonly #onDoubt: () => void;
  readonly #body = new Readable({ read: () => this.#goOn() });
  /** What came with this read of the socket. */
  readonly #chunks: Buffer[] = [];
  #turns: Turns | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #isPausable = false;
  #isHeld = false;
  #error: Error | undefined;
  #state: "under way" | "ending" | "over" = "under way";

  /**
   * @param isFresh whether its connection is new
   * @param onDoubt told that its reader does not take the response, which is through, for its own
   */
  constructor(reader: ResponseReader, isFresh: boolean, onDoubt: () => void) {
    this.#reader = reader;
    this.#isFresh = isFresh;
    this.#onDoubt = onDoubt;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    const turns = readInTurns(this.#body, (bytes) => this.#reader.onResponseData?.(bytes));
    this.#turns = turns;
    this.#body.once("end", () => this.#finish());
    this.#reader.onRequestStart?.({
      // undici does not tell: what may be late for another request must not be believed.
      isReused: !this.#isFresh,
      pause: () => {
        this.#isHeld = true;
        turns.pause();
      },
      resume: () => {
        this.#isHeld = false;
        turns.resume();
      },
      abort: (error = new Error("not wanted any more")) => {
        if (this.#state === "ending") this.#onDoubt();
        if (this.#state !== "under way") return;
        this.#body.destroy();
        controller.abort(error);
      },
    });
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Headers,
  ): void {
    this.#isPausable = isPausable(headers);
    if (status >= 200) this.#reader.onResponseStart?.(status, pairsOf(headers));
  }

  /** Chunks of one read of the socket go on as one: there may be 10,000 of one byte in it. */
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body.destroyed) return;
    if (this.#chunks.push(chunk) === 1) queueMicrotask(() => this.#pass(controller));
  }

  #pass(controller: Dispatcher.DispatchController): void {
    if (this.#take()) return;
    if (this.#isPausable) controller.pause();
    else if (this.#body.readableLength > MAX_UNREAD)
      controller.abort(new Error("it sends faster than it is read"));
  }

  /** @returns whether more is wanted */
  #take(): boolean {
    const chunks = this.#chunks.splice(0);
    if (chunks.length === 0 || this.#body.destroyed) return true;
    return this.#body.push(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
  }

  onResponseEnd(): void {
    this.#take();
    this.#body.push(null);
  }

  /** What came before a connection broke is still read. */
  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#take();
    this.#error = error;
    if (!this.#turns || this.#body.destroyed || this.#isHeld) {
      this.#body.destroy();
      this.#finish();
    } else this.#body.push(null);
  }

  #goOn(): void {
    if (this.#isPausable) this.#controller?.resume();
  }

  #finish(): void {
    this.#state = "ending";
    if (this.#error) this.#reader.onResponseError(this.#error);
    else this.#reader.onResponseEnd();
    this.#state = "over";
  }
}

/**
 * Whether undici may be paused while it reads a response. Of one that ends with its connection it would not be: where that ends while
 * it is paused, an assertion in undici 7 fails, outside of every promise, and with it the process
 * (https://github.com/nodejs/undici/issues/5360). It does not tell the version of HTTP, so the response has to say that its
 * connection is kept.
 */
function isPausable(headers: Headers): boolean {
  const textOf = (name: string): string | undefined =>
    [headers[name] ?? []].flat().join(", ").toLowerCase().trim() || undefined;
  const coding = textOf("transfer-encoding");
  const isFramed =
    coding === undefined ? textOf("content-length") !== undefined : coding === "chunked";
  return isFramed && textOf("connection") === "keep-alive";
}

function pairsOf(headers: Headers): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap((each) => [name, each]),
  );
}
