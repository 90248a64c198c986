import { setImmediate as nextTurn } from "node:timers/promises";
import type { ReadableSpan, SpanProcessor } from "@opentelemetry/sdk-trace-base";
import { setTimer } from "propylon/kit";
import type { Tell } from "../registration.ts";
import { scopeText, spanText, type AttributeLimits } from "./otlp-text.ts";

/** A finished span. */
export interface QueuedSpan {
  /** What made it; see `scopeText`. */
  readonly scope: string;
  /** About how many bytes it takes. */
  readonly size: number;
  /** OTLP JSON. */
  write(limits: AttributeLimits): string;
}

/** How spans wait, as `OTEL_BSP_*` says. */
export interface QueueSettings {
  /** Longest wait in milliseconds. */
  readonly delay: number;
  /** Maximum that wait; those beyond are dropped. */
  readonly maxQueue: number;
  /** Maximum that are sent at a time. */
  readonly maxBatch: number;
}

/** Sends what an export is made of; tells why that failed. Never rejects. */
export type Send = (body: Buffer) => Promise<string | undefined>;

/** Maximum bytes that wait, and that are sent at a time. */
const MAX_WAITING = 16 * 1_024 * 1_024;
const MAX_SENT = 4 * 1_024 * 1_024;
/** Longest that spans are written before calls have their turn, in milliseconds. */
const SLICE_MS = 1;

/** Where a queue of spans gets what it needs. */
interface SpanQueueInput {
  readonly settings: QueueSettings;
  readonly limits: AttributeLimits;
  /** See `resourceText`. */
  readonly resource: string;
  readonly send: Send;
  readonly tell: Tell;
}

/**
 * Finished spans on their way to a collector, one batch after the other. What finds no room is dropped and counted: a collector that
 * is slow or away costs spans, and neither memory nor time of calls.
 */
export class SpanQueue implements SpanProcessor {
  readonly #input: SpanQueueInput;
  #waiting: QueuedSpan[] = [];
  #bytes = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  /** How many spans are sent. */
  #sending: Promise<number> | undefined;
  #isClosed = false;

  constructor(input: SpanQueueInput) {
    this.#input = input;
  }

  /** Takes a finished span, or drops it. */
  add(span: QueuedSpan): void {
    const { size } = span;
    if (!this.#hasRoom(size)) return void this.#dropped++;
    this.#waiting.push(span);
    this.#bytes += size;
    if (!this.#sending) this.#schedule();
  }

  #hasRoom(size: number): boolean {
    const { maxQueue } = this.#input.settings;
    return !this.#isClosed && this.#waiting.length < maxQueue && this.#bytes + size <= MAX_WAITING;
  }

  onStart(): void {}

  /** A span of the SDK, which is written at once: what it holds is somebody else's. */
  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & 1) === 0) return;
    if (!this.#hasRoom(0)) return void this.#dropped++;
    try {
      const text = spanText(span);
      const scope = scopeText(span.instrumentationScope);
      this.add({ scope, size: sizeOf(text), write: () => text });
    } catch {
      // An invalid time, for example: the code that ends the span must not fail for it.
      this.#dropped++;
    }
  }

  /** Sends all that waits at this moment; what comes meanwhile is not waited for. */
  async forceFlush(): Promise<void> {
    let left = this.#waiting.length;
    await this.#sending;
    while (left > 0 && this.#waiting.length > 0) left -= await this.#start();
  }

  /** Sends the rest, and takes no more. */
  async shutdown(): Promise<void> {
    this.#isClosed = true;
    await this.#sending;
    while (this.#waiting.length > 0) await this.#start();
    this.#tellDropped();
  }

  #schedule(): void {
    const { delay, maxBatch } = this.#input.settings;
    if (this.#waiting.length >= maxBatch) void this.#start();
    else this.#timer ??= setTimer(() => void this.#start(), delay).unref();
  }

  #start(): Promise<number> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return (this.#sending ??= this.#sendBatch().finally(() => {
      this.#sending = undefined;
      if (this.#waiting.length > 0) this.#schedule();
    }));
  }

  async #sendBatch(): Promise<number> {
    // The call that filled the batch does not wait for it.
    await nextTurn();
    const batch = this.#take();
    if (batch.length === 0) return 0;
    const reason = await this.#input.send(await this.#write(batch));
    if (reason !== undefined) this.#input.tell(`${batch.length} spans are lost: ${reason}`);
    this.#tellDropped();
    return batch.length;
  }

  #tellDropped(): void {
    if (this.#dropped > 0)
      this.#input.tell(`${this.#dropped} spans found no room to wait and are lost.`);
    this.#dropped = 0;
  }

  #take(): readonly QueuedSpan[] {
    const most = this.#isClosed ? this.#waiting.length : this.#input.settings.maxBatch;
    let count = 0;
    let bytes = 0;
    for (const { size } of this.#waiting.slice(0, most)) {
      if (count > 0 && bytes + size > MAX_SENT) break;
      count++;
      bytes += size;
    }
    this.#bytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  /**
   * In slices: five hundred spans at once would hold up the calls of milliseconds. Each becomes bytes while its text is at hand: one
   * text of all of them costs four times as much to make bytes of.
   */
  async #write(batch: readonly QueuedSpan[]): Promise<Buffer> {
    const { limits, resource } = this.#input;
    const scopes = new Map<string, Buffer[]>();
    let since = performance.now();
    for (const span of batch) {
      const before = scopes.get(span.scope);
      const text = span.write(limits);
      if (before) before.push(Buffer.from(`,${text}`));
      else scopes.set(span.scope, [Buffer.from(`{${span.scope},"spans":[${text}`)]);
      if (performance.now() - since < SLICE_MS) continue;
      await nextTurn();
      since = performance.now();
    }
    const spans = [...scopes.values()].flatMap((each, index) => [
      Buffer.from(index === 0 ? "" : ","),
      ...each,
      Buffer.from("]}"),
    ]);
    const head = `{"resourceSpans":[{"resource":${resource},"scopeSpans":[`;
    return Buffer.concat([Buffer.from(head), ...spans, Buffer.from("]}]}")]);
  }
}

/** Bytes of a text that waits or is sent, whichever are more: beyond ASCII, two for a character in memory. */
function sizeOf(text: string): number {
  const sent = Buffer.byteLength(text);
  return sent === text.length ? sent : Math.max(sent, 2 * text.length);
}
