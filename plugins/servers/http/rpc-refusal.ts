import { Answer } from "propylon";
import { isObject } from "propylon/kit";
import { parseMessage } from "../wire/message.ts";

/** Ids of refusals of servers that did not look for the one of the request; the official Python SDK makes one up. */
export const NAMELESS: ReadonlySet<unknown> = new Set([undefined, null, "", "server-error"]);

/** A JSON-RPC error that came with an HTTP status of failure. */
export interface RpcRefusal {
  readonly id: unknown;
  readonly answer: Answer;
}

/** The JSON-RPC error in the body of a refusal, where there is one. */
export function readRefusal(chunks: readonly Buffer[]): RpcRefusal | undefined {
  try {
    const message = parseMessage(chunks);
    if (!isObject(message) || !isObject(message["error"])) return undefined;
    const { code, message: sentence, data } = message["error"];
    if (typeof code !== "number") return undefined;
    const answer = Answer.error({
      code,
      message: typeof sentence === "string" ? sentence : "",
      ...(data !== undefined && { data }),
    });
    return { id: message["id"], answer };
  } catch {
    return undefined;
  }
}
