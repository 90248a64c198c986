import { FastResponse } from "srvx";
import { writeJson } from "propylon/kit";
import type { DirectAnswer } from "propylon/internal";

/** What an answer has besides its body. */
export interface ReplyHead {
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer in JSON, which goes out on whichever way its request came; or a stream. */
export type Reply = DirectAnswer | Response;

/** A JSON answer. */
export function jsonReply(value: unknown, { status = 200, headers }: ReplyHead = {}): DirectAnswer {
  return {
    status,
    body: writeJson(value),
    headers: { "content-type": "application/json", ...headers },
  };
}

/** The answer of a route. In Node a Response of the web costs several times more. */
export function toResponse(reply: Reply): Response {
  if (reply instanceof Response) return reply;
  const { status, body, headers = {} } = reply;
  return new FastResponse(body, { status, headers });
}
