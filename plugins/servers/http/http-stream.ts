import { backoffDelay, setTimer } from "propylon/kit";
import { SseParser, type SseSink } from "propylon/internal";
import { type Faults } from "../wire/faults.ts";
import { type Exchange, holdBack } from "../wire/exchange.ts";
import type { RequestControl, ResponseReader } from "../pool/http-pool.ts";
import type { WireReceiver } from "../wire/wire.ts";

/** Wait before opening a stream again when the server names none; the longest holds whatever it says. */
const RETRY_MS = { initial: 1_000, max: 30_000 };
/** Attempts in a row that brought nothing, after which it is given up, or opened no oftener than each second. */
const MAX_ATTEMPTS = 5;

/** For whom a {@link HttpStream} reads, and from where. */
export interface HttpStreamOptions {
  /** The request whose answer is still to come; absent for the stream of unrelated messages. */
  readonly exchange?: Exchange;
  readonly lastEventId?: string;
  readonly retry?: number | undefined;
}

/** The wire that a {@link HttpStream} is part of. */
export interface StreamHost {
  readonly receiver: WireReceiver;
  readonly faults: Faults;
  /** Largest message, in bytes. */
  readonly maxResult: number;
  /** Wait for the headers of the first stream, in milliseconds; some servers send them only with the first event. */
  readonly patience: number;
  session: string | undefined;
  forget(exchange: Exchange): void;
  plainHeaders(accept: string, lastEventId?: string): string[];
  dispatch(method: "GET", headers: string[], body: null, reader: ResponseReader): void;
}

/** An event stream opened by GET (legacy era): the server's own messages, or the rest of an interrupted answer. */
export class HttpStream implements ResponseReader, SseSink {
  slot = -1;
  /** Resolves when the first attempt has its outcome, or after a short wait. */
  readonly opened: Promise<void>;
  readonly #wire: StreamHost;
  #onOpened!: () => void;
  readonly #exchange: Exchange | undefined;
  #parser: SseParser;
  #lastEventId: string;
  #retry: number | undefined;
  /** From the first byte of the last attempt's request on. */
  #control: RequestControl | undefined;
  #timer: NodeJS.Timeout | undefined;
  #attempts = 0;
  /** Attempts in a row without a message; events that only have an id hold a stream open, and cost as much as any. */
  #silent = 0;
  #status = 0;
  #ended = false;
  /** Whether messages may have come while it was not open. */
  #hasGap = false;

  constructor(wire: StreamHost, { exchange, lastEventId = "", retry }: HttpStreamOptions) {
    this.#wire = wire;
    this.#exchange = exchange;
    this.#lastEventId = lastEventId;
    this.#retry = retry;
    this.#parser = new SseParser(this, wire.maxResult);
    this.opened = new Promise((resolve) => (this.#onOpened = resolve));
  }

  /** Opens it: at once, or for a resumed answer after the time the server asked for. */
  start(): void {
    if (this.#exchange) return this.#again();
    setTimer(this.#onOpened, this.#wire.patience).unref();
    this.#open();
  }

  /** Ends it for good. */
  abort(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#control?.abort();
  }

  onRequestStart(control: RequestControl): void {
    this.#control = control;
    if (this.#ended) this.abort();
  }

  onResponseStart(status: number): void {
    this.#status = status;
    this.#onOpened();
    if (status !== 200 || !this.#hasGap) return;
    // Event ids promise no redelivery: a server that was restarted does not know them (2025-11-25, Resumability).
    this.#hasGap = false;
    if (!this.#exchange) this.#wire.receiver.missed();
  }

  onResponseData(chunk: Buffer): void {
    if (this.#ended || this.#status !== 200) return;
    this.#parser.push(chunk);
    if (this.#exchange) holdBack(this.#exchange, this.#control!);
  }

  onResponseEnd(): void {
    if (this.#ended) return;
    if (this.#status === 200) this.#again();
    else if (this.#status === 404 && !this.#exchange && this.#wire.session !== undefined)
      this.#onSessionLost();
    else if (this.#status >= 500 || this.#status === 429) this.#again();
    else this.#giveUp();
  }

  onResponseError(error: Error): void {
    this.#onOpened();
    if (this.#ended) return;
    // Only a server that cannot be reached at all is gone; one that breaks its stream may do without.
    if (this.#exchange || this.#control) return this.#again();
    this.#ended = true;
    this.#wire.receiver.lost(this.#wire.faults.network(error), "finish");
  }

  event(data: readonly Buffer[], length: number): void {
    this.#attempts = 0;
    if (length > 0) this.#silent = 0;
    if (length > 0) this.#wire.receiver.receive(data, length, this.#exchange);
    if (this.#exchange?.done) {
      this.#wire.forget(this.#exchange);
      this.abort();
    }
  }

  overflow(): void {
    const error = this.#wire.faults.tooLarge(this.#wire.maxResult);
    if (this.#exchange) {
      this.abort();
      this.#exchange.fail(error);
    } else {
      this.#control?.abort(error);
    }
  }

  #open(): void {
    this.#status = 0;
    this.#control = undefined;
    this.#parser = new SseParser(this, this.#wire.maxResult);
    this.#wire.dispatch(
      "GET",
      this.#wire.plainHeaders("text/event-stream", this.#lastEventId),
      null,
      this,
    );
  }

  #again(): void {
    this.#lastEventId = this.#parser.lastEventId || this.#lastEventId;
    this.#retry = this.#parser.retry ?? this.#retry;
    if (this.#exchange?.done) return;
    this.#hasGap = true;
    if (++this.#attempts > MAX_ATTEMPTS && this.#exchange) return this.#giveUp();
    const { initial, max } = RETRY_MS;
    const asked = this.#retry;
    const wait = backoffDelay(this.#attempts, { initial: asked ?? initial, max }, asked);
    const least = ++this.#silent > MAX_ATTEMPTS ? initial : 0;
    this.#timer = setTimer(() => this.#open(), Math.max(wait, least));
    if (!this.#exchange) this.#timer.unref();
  }

  #onSessionLost(): void {
    this.#ended = true;
    this.#wire.session = undefined;
    this.#wire.receiver.lost(this.#wire.faults.session(), "finish");
  }

  /** A server need not offer the stream (405); an answer that cannot be fetched any more is lost. */
  #giveUp(): void {
    this.#ended = true;
    if (!this.#exchange) return;
    this.#wire.forget(this.#exchange);
    this.#exchange.fail(
      this.#wire.faults.protocol("ended its event stream before the answer was complete"),
    );
  }
}
