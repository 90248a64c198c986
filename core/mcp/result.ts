import type { Answer } from "../answer.ts";
import type { CallMethod, Era, Json, RpcId } from "../types.ts";
import { contains } from "./bridge.ts";
import { isObject } from "../json.ts";
import { META_SERVER_INFO, RPC } from "./protocol.ts";
import type { Pieces } from "./reply.ts";

/** Up to this many bytes parsing is as cheap as leaving an answer alone, and exact (performance.md). */
const SMALL = 8 * 1024;

/** What a 2026-07-28 result must carry besides the callee's own words. */
export interface ResultFrame {
  readonly method: CallMethod;
  /** Era of the callee; a local tool has none. */
  readonly callee: Era | undefined;
  readonly serverInfo: Json;
  /** Binds a server's `requestState` to whom it is given. */
  bind(state: string): string;
}

/** A response with the HTTP status it goes out with. */
export interface Encoded {
  readonly pieces: Pieces;
  readonly status: number;
}

/** Reads are cacheable results; without a word from the server they are neither fresh nor shared. */
const CACHE_HINTS = { ttlMs: 0, cacheScope: "private" };

/**
 * Encodes an answer for a modern client: `resultType`, cache hints, and the gateway in place of the server in `_meta`.
 * A large answer stays bytes where that cannot go wrong.
 */
export function encodeModern(answer: Answer, id: RpcId, frame: ResultFrame): Encoded {
  const hints = frame.method === "resources/read" ? CACHE_HINTS : undefined;
  const added = {
    resultType: "complete",
    ...hints,
    _meta: { [META_SERVER_INFO]: frame.serverInfo },
  };
  const large = answer.isRaw && (answer.rawSize ?? 0) > SMALL;
  const pieces = large ? encodeLarge(answer, id, added, frame.callee) : undefined;
  return pieces === undefined ? encodeParsed(answer, id, added, frame) : { pieces, status: 200 };
}

/** A member of the same name would come twice, and readers disagree which one counts (T13); then there is no short way. */
function encodeLarge(
  answer: Answer,
  id: RpcId,
  added: Json,
  callee: Era | undefined,
): Pieces | undefined {
  const pieces = answer.encode(id);
  if (contains(pieces, META_SERVER_INFO)) return undefined;
  // A state must be bound, and that needs a parsed answer.
  if (contains(pieces, '"requestState"')) return undefined;
  if (callee === "modern") return contains(pieces, '"resultType"') ? pieces : undefined;
  const clash = Object.keys(added).some((key) => contains(pieces, `"${key}"`));
  return clash ? undefined : answer.encode(id, added);
}

function encodeParsed(
  answer: Answer,
  id: RpcId,
  added: Json & { readonly _meta: Json },
  { bind }: Pick<ResultFrame, "bind">,
): Encoded {
  const { result, error } = answer;
  if (error !== undefined) {
    const code = error.code === RPC.resourceNotFound ? RPC.invalidParams : error.code;
    const message = JSON.stringify({ jsonrpc: "2.0", id, error: { ...error, code } });
    return { pieces: [message], status: code === RPC.missingCapability ? 400 : 200 };
  }
  const own = result?.["_meta"];
  const _meta = { ...(isObject(own) ? own : undefined), ...added._meta };
  const state = result?.["requestState"];
  const bound = typeof state === "string" ? { requestState: bind(state) } : undefined;
  const whole = { ...added, ...result, ...bound, _meta };
  return { pieces: [JSON.stringify({ jsonrpc: "2.0", id, result: whole })], status: 200 };
}
