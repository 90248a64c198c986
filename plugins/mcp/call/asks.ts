import { randomUUID } from "node:crypto";
import { GatewayError, type Json } from "propylon";
import { writeJson } from "propylon/kit";
import { tooManyQuestions, WITHDRAWN_QUESTION } from "propylon/internal";
import type { ClientResponse } from "../message/client-message.ts";
import { notification } from "../message/reply.ts";
import type { PendingAsk, Session } from "../session/session.ts";

/** Refuses a question of a call that has ended. */
export const CALL_OVER = new GatewayError("cancelled", "The call this request belongs to is over.");

/** Why a question has no answer whose call has ended. */
export const WENT_AWAY = new GatewayError("cancelled", "The client went away, or the call ended.");

/** Ids of questions where there are several replicas: which one asks, and a secret. */
const ASK_ID = /^([\da-f-]{36})_[\da-f-]{36}$/;

/** A question to a client. */
export interface Question {
  readonly method: string;
  readonly params: Json | undefined;
  /** Withdraws it. */
  readonly signal: AbortSignal | undefined;
  /** The replica that asks, where the answer may come to another. */
  readonly replica: string | undefined;
  /** Sends a message to the client; false when there is no way to it. */
  readonly send: (message: string) => boolean;
}

/**
 * Sends a request to a legacy client. Its id is unguessable and only looked up within the session, so no other client can
 * answer it.
 *
 * @param own the asks of the same call, kept up to date
 * @throws {GatewayError} `cancelled` when the client has no open stream
 */
export function askClient(
  session: Session,
  own: Map<string, PendingAsk>,
  { method, params, signal, replica, send }: Question,
): Promise<Json> {
  const refusal = tooManyQuestions(own.size);
  if (refusal) return Promise.reject(refusal);
  const id = replica === undefined ? randomUUID() : `${replica}_${randomUUID()}`;
  const answer = new Promise<Json>((resolve, reject) => {
    const ask = { resolve, reject };
    own.set(id, ask);
    (session.asks ??= new Map()).set(id, ask);
    if (!send(writeJson({ jsonrpc: "2.0", id, method, params })))
      reject(new GatewayError("cancelled", `The client has no open stream for ${method}.`));
  });
  const withdraw = (): void => {
    send(
      notification("notifications/cancelled", {
        requestId: id,
        reason: WITHDRAWN_QUESTION.message,
      }),
    );
    own.get(id)?.reject(WITHDRAWN_QUESTION);
  };
  signal?.addEventListener("abort", withdraw, { once: true });
  return answer.finally(() => {
    signal?.removeEventListener("abort", withdraw);
    own.delete(id);
    forget(session, id);
  });
}

/** The replica that asked what a response answers; `undefined` where the id does not say. */
export function askingReplica({ id }: ClientResponse): string | undefined {
  return typeof id === "string" ? ASK_ID.exec(id)?.[1] : undefined;
}

/** Hands a client's response to the one who asked; tells whether anybody did. Responses to unknown ids are ignored. */
export function settleAsk(session: Session, response: ClientResponse): boolean {
  const id = String(response.id);
  const ask = session.asks?.get(id);
  if (ask === undefined) return false;
  forget(session, id);
  if (response.error === undefined) ask.resolve(response.result ?? {});
  else ask.reject(clientError(response.error));
  return true;
}

function forget(session: Session, id: string): void {
  session.asks?.delete(id);
  if (session.asks?.size === 0) session.asks = undefined;
}

/** A client's own refusal; `data.rpcError` is the error as the client sent it, for callees that speak JSON-RPC. */
export function clientError(rpcError: {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}): GatewayError {
  return new GatewayError("upstream_error", `The client refused: ${rpcError.message}`, {
    data: { rpcError },
  });
}
