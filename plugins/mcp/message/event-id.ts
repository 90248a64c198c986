import { parseExact, writeJson } from "propylon/kit";
import type { RpcId } from "propylon/internal";
import { isRpcId } from "./client-message.ts";

/** What stands in place of a request for the stream of a session itself: no request is encoded as this. */
export const OF_SESSION = "-_";

/** Stream: the replica it is at where there are several, its count, its request; number of the event. */
export const EVENT_ID =
  /^((?<replica>[\da-f-]{36}_)?(?<count>[0-9a-z]{1,10})(?:-(?<request>[\w-]{1,100}))?)\.(?<seq>\d{1,10})$/;

/** A request's id as part of an event id; nothing for a long one. */
export function encodeRequest(id: RpcId): string {
  const text = Buffer.from(writeJson(id)).toString("base64url");
  return text.length > 100 ? "" : `-${text}`;
}

/** The request of such a part; `undefined` for any other. */
export function decodeRequest(text: string): RpcId | undefined {
  try {
    const id = parseExact(Buffer.from(text, "base64url").toString());
    return isRpcId(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Number of the event by which a client was told that its call was lost. */
const TOLD = 9_999_999_999;

/** The id of that event, of a stream of which the client has another event. */
export function toldId(eventId: string): string {
  return eventId.replace(/\d+$/, String(TOLD));
}

/** Whether an event is that one. */
export function isTold(eventId: string): boolean {
  return EVENT_ID.exec(eventId)?.groups?.["seq"] === String(TOLD);
}

/** Whether an event is of the stream of a session itself, not of a call. */
export function isOfSession(eventId: string): boolean {
  return EVENT_ID.exec(eventId)?.groups?.["request"] === "_";
}
