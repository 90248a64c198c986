import type { Answer } from "../answer.ts";
import type { CallMethod, Era, Json, RpcId } from "../types.ts";
import { contains } from "./bridge.ts";
import { isObject, META_SERVER_INFO } from "./protocol.ts";
import type { Pieces } from "./reply.ts";

/** Everything a 2026-07-28 result must carry and the callee may have left out. */
export interface ResultFrame {
  readonly method: CallMethod;
  /** Era of the callee; a local tool has none. */
  readonly callee: Era | undefined;
  readonly serverInfo: Json;
}

/** Reads are cacheable results; without a word from the server they are neither fresh nor shared. */
const CACHE_HINTS = { ttlMs: 0, cacheScope: "private" };

/**
 * Encodes an answer for a modern client: `resultType`, cache hints, and the gateway in place of the server in `_meta`.
 * A large answer stays bytes where that cannot go wrong.
 */
export function encodeModern(answer: Answer, id: RpcId, frame: ResultFrame): Pieces {
  const hints = frame.method === "resources/read" ? CACHE_HINTS : undefined;
  const added = {
    resultType: "complete",
    ...hints,
    _meta: { [META_SERVER_INFO]: frame.serverInfo },
  };
  if (answer.isRaw) {
    // A member of the same name would come twice, and readers disagree which one counts (T13).
    const clash = Object.keys(added).some((key) => contains(answer, `"${key}"`));
    if (!clash) return answer.encode(id, added);
    if (
      frame.callee === "modern" &&
      contains(answer, '"resultType"') &&
      !contains(answer, META_SERVER_INFO)
    )
      return answer.encode(id);
  }
  const { result, error } = answer;
  if (result === undefined) return [JSON.stringify({ jsonrpc: "2.0", id, error })];
  const meta = isObject(result["_meta"]) ? result["_meta"] : undefined;
  return [
    JSON.stringify({
      jsonrpc: "2.0",
      id,
      result: { ...added, ...result, _meta: { ...meta, ...added._meta } },
    }),
  ];
}
