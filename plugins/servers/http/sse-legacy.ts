import type { GatewayError } from "propylon";
import { SseParser, type SseSink } from "propylon/internal";
import { Faults } from "../wire/faults.ts";
import type { Exchange } from "../wire/exchange.ts";
import { Discard } from "../pool/discard.ts";
import { callHeaders } from "../wire/envelope.ts";
import type { HttpWireOptions } from "./http.ts";
import { baseHeaders, openPool } from "./http-options.ts";
import type { Pool, RequestControl, ResponseReader } from "../pool/http-pool.ts";
import { valueOf } from "../pool/http-parser.ts";
import { isFollowed, MAX_REDIRECTS, readRedirect } from "./redirect.ts";
import type { Dialect, Wire } from "../wire/wire.ts";

interface Settle {
  resolve(): void;
  reject(error: GatewayError): void;
}

/**
 * HTTP+SSE, the transport of revision 2024-11-05: one event stream brings everything, requests are POSTed to the URL that its
 * first event names.
 */
export class SseWire implements Wire, ResponseReader, SseSink {
  readonly transport = "sse";
  readonly pid = undefined;
  readonly #options: HttpWireOptions;
  readonly #faults: Faults;
  readonly #url: URL;
  readonly #pool: Pool;
  readonly #base: readonly string[];
  readonly #parser: SseParser;
  readonly #ready: Settle;
  readonly #opened: Promise<void>;
  #version: string | undefined;
  #endpoint: string | undefined;
  #control: RequestControl | undefined;
  #status = 0;
  #location: string | undefined;
  #redirects = 0;
  #closed = false;

  private constructor(options: HttpWireOptions) {
    const { name, config, userAgent, credentials } = options;
    this.#options = options;
    this.#faults = new Faults(name);
    this.#url = new URL(config.url);
    this.#base = baseHeaders(this.#url, credentials?.headers ?? config.headers, userAgent);
    this.#pool = openPool(name, config, options.secureContext, options.httpClient);
    this.#parser = new SseParser(this, config.maxResult);
    let ready!: Settle;
    this.#opened = new Promise((resolve, reject) => (ready = { resolve, reject }));
    this.#ready = ready;
  }

  /**
   * Opens the stream and waits for the URL to post to.
   * @throws {GatewayError} `upstream_error` when the server has no such stream; the reason of `signal` when that aborts
   */
  static async open(options: HttpWireOptions, signal: AbortSignal): Promise<SseWire> {
    const wire = new SseWire(options);
    const abort = (): void => wire.#ready.reject(signal.reason as GatewayError);
    signal.addEventListener("abort", abort, { once: true });
    wire.#open(wire.#url);
    try {
      await wire.#opened;
      return wire;
    } catch (error) {
      await wire.close();
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  speak(dialect: Dialect | undefined): void {
    this.#version = dialect?.version;
  }

  send(exchange: Exchange): void {
    const failed = (error: GatewayError, sent: boolean): void => {
      if (sent) exchange.fail(error);
      else this.#options.receiver.lost(error, "fail", exchange);
    };
    this.#post(exchange.message, failed, callHeaders(exchange.call));
  }

  post(message: string): void {
    this.#post(message, (error) =>
      this.#options.log.debug({ err: error }, "message to a server not delivered"),
    );
  }

  drop(): void {}

  listen(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#control?.abort();
    await this.#pool.destroy();
  }

  onRequestStart(control: RequestControl): void {
    this.#control = control;
  }

  onResponseStart(status: number, headers: readonly string[]): void {
    this.#status = status;
    this.#location = valueOf(headers, "location");
  }

  onResponseData(chunk: Buffer): void {
    if (this.#status === 200 && !this.#closed) this.#parser.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#status === 200) return this.#end(this.#faults.protocol("ended its event stream"));
    const target = readRedirect(this.#status, this.#location, this.#url.href);
    if (!target) return this.#end(this.#faults.status(this.#status));
    if (this.#redirects++ < MAX_REDIRECTS && isFollowed(this.#status, target, this.#url.href))
      return this.#open(target);
    this.#end(this.#faults.redirect(this.#status, target));
  }

  #open({ pathname, search }: URL): void {
    if (this.#closed) return;
    const headers = [...this.#base, "accept", "text/event-stream"];
    this.#pool.dispatch({ path: `${pathname}${search}`, method: "GET", headers, body: null }, this);
  }

  onResponseError(error: Error): void {
    this.#end(this.#faults.network(error));
  }

  event(data: readonly Buffer[], length: number, type: string): void {
    if (type === "endpoint") this.#onEndpoint(Buffer.concat(data).toString("utf8"));
    else if (length > 0) this.#options.receiver.receive(data, length, undefined);
  }

  overflow(): void {
    this.#end(this.#faults.tooLarge(this.#options.config.maxResult));
    this.#control?.abort(new Error("message too large"));
  }

  /** The server chooses where our credentials go, so it may only choose a path of its own origin. */
  #onEndpoint(text: string): void {
    if (this.#endpoint !== undefined) return;
    const url = URL.canParse(text, this.#url.href) ? new URL(text, this.#url) : undefined;
    if (url?.origin !== this.#url.origin)
      return this.#end(this.#faults.protocol("names an endpoint on another origin"));
    this.#endpoint = `${url.pathname}${url.search}`;
    this.#ready.resolve();
  }

  #end(error: GatewayError): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#endpoint === undefined) this.#ready.reject(error);
    else this.#options.receiver.lost(error, "fail");
  }

  #post(
    message: string,
    failed: (error: GatewayError, sent: boolean) => void,
    trace: readonly string[] = [],
  ): void {
    const headers = [
      ...this.#base,
      ...trace,
      "content-type",
      "application/json",
      "accept",
      "application/json, text/event-stream",
    ];
    if (this.#version !== undefined) headers.push("mcp-protocol-version", this.#version);
    const handler = new Discard(
      (error, sent) => failed(this.#faults.network(error), sent),
      (status) => {
        if (status >= 300) failed(this.#faults.status(status), true);
      },
    );
    this.#pool.dispatch({ path: this.#endpoint!, method: "POST", headers, body: message }, handler);
  }
}
