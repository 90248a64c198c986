import { isWithinDepth } from "propylon/kit";
import type { Dispatcher } from "undici";
import { Failure } from "../failure.ts";

/** Deepest nesting of what the runtime answers. */
const MAX_DEPTH = 64;

/** How something is asked of the runtime. */
export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** What the runtime answered; the body is read or given up. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Dispatcher.ResponseData["body"];
}

/** The way to the runtime: connections that are kept, and nothing that follows a redirect. */
export interface Http {
  ask(url: string, request: HttpRequest): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/**
 * `request` and not `fetch`, which costs three times as much and would follow a redirect: that would carry the task, and the
 * runtime's key, to somebody else.
 */
export async function openHttp(): Promise<Http> {
  const { Agent, request } = await import("undici");
  // Node's own gives up after five minutes of silence, which a task may well take; ours are bounded by their signal. There is no
  // bound of its own on a body: a stream of events may be as long as the task.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return {
    async ask(url, { method, headers, body, signal }) {
      const answer = await request(url, {
        method,
        headers,
        body: body ?? null,
        signal,
        dispatcher,
      });
      const contentType = [answer.headers["content-type"] ?? ""].flat().join();
      return { status: answer.statusCode, contentType, body: answer.body };
    },
    close: () => dispatcher.destroy(),
  };
}

/** Gives a body up, and its connection with it: the rest of it may never come. */
export function drop(body: HttpAnswer["body"]): void {
  body.on("error", () => {}).destroy();
}

/**
 * A body as text.
 *
 * @throws {Failure} `result_too_large` above the limit, in bytes
 */
export async function readText(body: HttpAnswer["body"], limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += (chunk as Buffer).length;
    if (size > limit) throw excess("The answer", limit);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * The value of a JSON text of the runtime. A deep one would overflow the stack of whoever walks it, e.g. where a result is written.
 *
 * @throws {Failure} `invalid_answer` for one that nests too deep; `SyntaxError`
 */
export function parseAnswer(text: string): unknown {
  if (isWithinDepth(Buffer.from(text), MAX_DEPTH)) return JSON.parse(text);
  const message = `The runtime's answer nests deeper than ${MAX_DEPTH} levels.`;
  throw new Failure("invalid_answer", message);
}

/** More than `runtime.limit`. The runtime did its work, and would do it again: another run does not make it less. */
export function excess(what: string, limit: number): Failure {
  return new Failure("result_too_large", `${what} of the runtime has more than ${limit} bytes.`);
}
