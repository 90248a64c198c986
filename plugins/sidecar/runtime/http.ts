import type { Dispatcher } from "undici";

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
 *
 * @param limit largest answer in bytes
 */
export async function openHttp(limit: number): Promise<Http> {
  const { Agent, request } = await import("undici");
  // Node's own gives up after five minutes of silence, which a task may well take; ours are bounded by their signal.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0, maxResponseSize: limit });
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
