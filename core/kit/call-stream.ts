import type { Progress } from "../call/types.ts";
import { SseBody, sseFrame } from "./sse-body.ts";

/** Unread bytes beyond which only the latest progress is kept. */
const HIGH_WATER = 64 * 1024;

/**
 * The answer of one call as server-sent events: `progress` as often as the tool reports and the client reads, then one
 * `result` or `error`. A client that reads slowly loses superseded progress and nothing else.
 *
 * @example
 * const stream = new CallStream(() => cancellation.abort(clientGone()));
 * const answer = gateway.call({ ...input, cancellation, progress: (report) => stream.progress(report) });
 */
export class CallStream {
  readonly #body: SseBody;
  #latest: string | undefined;
  readonly response: Response;

  /** @param onGone called when the client went away before the end */
  constructor(onGone: () => void) {
    this.#body = new SseBody({
      onRoom: () => this.#flush(),
      onGone: (how) => how === "left" && onGone(),
    });
    // The head leaves with the first bytes.
    this.#body.write(": open\n\n");
    this.response = this.#body.response();
  }

  /** Reports progress. */
  progress(report: Progress): void {
    const frame = sseFrame(JSON.stringify(report), "progress");
    if (this.#body.unsent >= HIGH_WATER) this.#latest = frame;
    else this.#body.write(frame);
  }

  /** Ends it with the same JSON that the unary answer has. */
  end(event: "result" | "error", body: string): void {
    this.#flush();
    this.#body.write(sseFrame(body, event));
    this.#body.end();
  }

  #flush(): void {
    const frame = this.#latest;
    this.#latest = undefined;
    if (frame !== undefined) this.#body.write(frame);
  }
}
