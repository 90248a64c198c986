import { promisify } from "node:util";
import { gzip } from "node:zlib";
import {
  backoffDelay,
  HttpClient,
  isObject,
  networkReason,
  parseJson,
  pause,
  readRetryAfter,
  setTimer,
  VERSION,
} from "propylon/kit";
import type { Tell } from "../registration.ts";

/** Where to, and how. */
export interface SenderSettings {
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Longest export with all its attempts, in milliseconds. */
  readonly timeout: number;
  readonly isCompressed: boolean;
}

/** What came of one attempt. */
interface Attempt {
  /** Why it failed. */
  readonly reason?: string | undefined;
  readonly mayRetry?: boolean;
  /** Milliseconds that the collector asks to wait. */
  readonly wait?: number | undefined;
}

/** Attempts of one export. */
const ATTEMPTS = 6;
const FIRST_WAIT_MS = 1_000;
/** Most of an answer that is read; a collector says next to nothing. */
const MAX_ANSWER = 65_536;
/** What the OTLP specification lets an exporter try once more. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const ENDED = "the gateway ends";

const compress = promisify(gzip);

/** Sends exports to a collector. What it answers, and when, is bounded: by its timeout in time, and by a few kilobytes. */
export class OtlpSender {
  readonly #settings: SenderSettings;
  readonly #tell: Tell;
  readonly #running = new Set<AbortController>();
  #isEnded = false;
  readonly #client = new HttpClient({
    maxResult: MAX_ANSWER,
    network: (error) => new Error(networkReason(error)),
    tooLarge: () => new Error("its answer is too large"),
  });

  /** @param tell hears of what a collector does not take */
  constructor(settings: SenderSettings, tell: Tell) {
    this.#settings = settings;
    this.#tell = tell;
  }

  /** Sends one export, and tells why that failed. Never rejects. */
  async send(plain: Buffer): Promise<string | undefined> {
    if (this.#isEnded) return ENDED;
    const { timeout, isCompressed } = this.#settings;
    const stop = new AbortController();
    const timer = setTimer(() => stop.abort(new Error("it took too long")), timeout);
    this.#running.add(stop);
    try {
      const body = isCompressed ? await compress(plain) : plain;
      return await this.#sendUntil(performance.now() + timeout, body, stop.signal);
    } catch (error) {
      return String(error);
    } finally {
      clearTimeout(timer);
      this.#running.delete(stop);
    }
  }

  /** Ends at once. */
  async destroy(): Promise<void> {
    this.#isEnded = true;
    for (const stop of this.#running) stop.abort(new Error(ENDED));
    await this.#client.destroy();
  }

  async #sendUntil(
    deadline: number,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    for (let failures = 1; ; failures++) {
      const { reason, mayRetry, wait = 0 } = await this.#attempt(body, signal);
      const isLast = failures === ATTEMPTS || signal.aborted;
      if (reason === undefined || mayRetry !== true || isLast) return reason;
      const left = deadline - performance.now();
      if (left <= 0 || wait > left) return reason;
      const delay = backoffDelay(failures, { initial: FIRST_WAIT_MS, max: left }, wait);
      if (delay >= left) return reason;
      await pause(delay, signal);
    }
  }

  async #attempt(body: Buffer, signal: AbortSignal): Promise<Attempt> {
    const { url, headers } = this.#settings;
    try {
      const reply = await this.#client.send(new URL(url), {
        method: "POST",
        headers: { ...headers, ...this.#ownHeaders() },
        body,
        signal,
      });
      const { status } = reply;
      const answer = await reply.bytes().then(String, () => "");
      if (status < 300) return this.#tellPartial(answer);
      const wait = readRetryAfter(reply.header("retry-after"));
      return { reason: `the collector answers ${status}`, mayRetry: RETRYABLE.has(status), wait };
    } catch (error) {
      return { reason: error instanceof Error ? error.message : String(error), mayRetry: true };
    }
  }

  /** A collector that takes a part only says so in an answer of 200. */
  #tellPartial(answer: string): Attempt {
    if (!answer.includes("partialSuccess")) return {};
    const said: unknown = parseAnswer(answer);
    const partial = isObject(said) ? said["partialSuccess"] : undefined;
    const count = isObject(partial) ? String(partial["rejectedSpans"]) : "";
    // Its other words may quote the headers of the request.
    if (/^\d{1,9}$/.test(count))
      this.#tell(`The collector took a part only: it refused ${count} spans.`);
    return {};
  }

  #ownHeaders(): Readonly<Record<string, string>> {
    return {
      "user-agent": `propylon/${VERSION}`,
      "content-type": "application/json",
      ...(this.#settings.isCompressed && { "content-encoding": "gzip" }),
    };
  }
}

function parseAnswer(answer: string): unknown {
  try {
    return parseJson(Buffer.from(answer), 8);
  } catch {
    return undefined;
  }
}
