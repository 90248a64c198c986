import type { Dispatcher } from "undici";
import { Failure } from "../failure.ts";

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

/** More than `runtime.limit`. The runtime did its work, and would do it again: another run does not make it less. */
export function excess(what: string, limit: number): Failure {
  return new Failure("result_too_large", `${what} of the runtime has more than ${limit} bytes.`);
}
