import type { Answer } from "../../call/answer.ts";
import { writeJson } from "../../kit/exact-json.ts";
import type { Progress } from "../../kit/types.ts";
import { GatewayError, toEnvelope, toGatewayError } from "../../kit/errors.ts";
import { SseBody, sseFrame } from "../../kit/sse-body.ts";

/** Unread bytes beyond which only the latest progress is kept. */
const HIGH_WATER = 64 * 1024;
/** Unread bytes beyond which nothing more is told but the end. */
const MAX_UNREAD = 4 * 1024 * 1024;

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
    const frame = sseFrame(writeJson(report), "progress");
    if (this.#body.unsent >= HIGH_WATER) this.#latest = frame;
    else this.#body.write(frame);
  }

  /** Sends another event, which nothing supersedes; `false`: too much is unread, and it was not sent. */
  tell(event: string, body: string): boolean {
    if (this.#body.unsent >= MAX_UNREAD) return false;
    this.#flush();
    this.#body.write(sseFrame(body, event));
    return true;
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

/**
 * Answers with the events of one call.
 *
 * @param onGone called when the client went away before the end
 * @param run makes the call, and may tell of more than its progress; what it throws is the event `error`
 * @example return streamAnswer(leave, (progress) => gateway.call({ ...input, progress }));
 */
export function streamAnswer(
  onGone: () => void,
  run: (
    progress: (report: Progress) => void,
    tell: (event: string, body: string) => boolean,
  ) => Promise<Answer>,
): Response {
  const stream = new CallStream(onGone);
  run(
    (report) => stream.progress(report),
    (event, body) => stream.tell(event, body),
  )
    .then((answer) => stream.end("result", writeJson({ result: resultOf(answer) })))
    .catch((thrown: unknown) => stream.end("error", writeJson(toEnvelope(toGatewayError(thrown)))));
  return stream.response;
}

/**
 * The result of a call. A tool that failed has one that says so.
 *
 * @throws {GatewayError} `upstream_error` for a JSON-RPC error of the server, with its code as `data.rpc`
 * @example return { ok: true, result: resultOf(await gateway.call(input)) };
 */
export function resultOf(answer: Answer): unknown {
  if (!answer.isRpcError) return answer.result;
  const { code, message } = answer.error!;
  throw new GatewayError("upstream_error", message, { data: { rpc: code } });
}
