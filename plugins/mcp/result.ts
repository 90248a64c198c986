import type { Answer, CallMethod, Json } from "propylon";
import { isObject, writeJson } from "propylon/kit";
import { type Era, type ResultEdit, type RpcId, contains } from "propylon/internal";
import type { Pieces } from "./stream.ts";
import { META_PREFIX, META_SERVER_INFO, MODERN_META, RPC } from "./protocol.ts";

/** Up to this many bytes parsing is as cheap as leaving an answer alone, and exact (performance.md). */
const SMALL = 8 * 1024;

/** What a 2026-07-28 result must carry besides the callee's own words. */
export interface ResultFrame {
  readonly method: CallMethod;
  /** Era of the callee, which is asked for a large answer; a local tool has none. */
  callee(): Era | undefined;
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
  const pieces = large ? encodeLarge(answer, id, added, frame.callee()) : undefined;
  return pieces === undefined ? encodeParsed(answer, id, added, frame) : { pieces, status: 200 };
}

/** A member of the same name would come twice, and readers disagree which one counts; then there is no short way. */
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
  if (answer.isRpcError) {
    const error = answer.error!;
    const code = error.code === RPC.resourceNotFound ? RPC.invalidParams : error.code;
    const message = writeJson({ jsonrpc: "2.0", id, error: { ...error, code } });
    return { pieces: [message], status: code === RPC.missingCapability ? 400 : 200 };
  }
  const change = ({ _meta, requestState, ...own }: Json): Json => ({
    ...added,
    ...own,
    ...(typeof requestState === "string" && { requestState: bind(requestState) }),
    _meta: { ...(isObject(_meta) ? _meta : undefined), ...added._meta },
  });
  const names = [...Object.keys(added), "requestState"];
  return { pieces: answer.encodeEdited(id, { names, change }), status: 200 };
}

/**
 * Encodes an answer for a client of an older revision: without what only 2026-07-28 knows, which its server may have said.
 *
 * @param pieces the answer as it is
 */
export function encodeLegacy(answer: Answer, id: RpcId, pieces: Pieces): Pieces {
  const isModern = MODERN_WORDS.some((word) => contains(pieces, word));
  return isModern && !answer.isRpcError ? answer.encodeEdited(id, TO_LEGACY) : pieces;
}

/** What shows in the bytes of an answer that it may hold something of 2026-07-28. */
const MODERN_WORDS = ['"resultType"', `"${META_PREFIX}`];

const TO_LEGACY: ResultEdit = {
  names: ["resultType", "_meta"],
  change: ({ _meta }) => {
    const kept = withoutModernMeta(_meta);
    return kept === undefined ? {} : { _meta: kept };
  },
};

/** `_meta` without the keys of 2026-07-28; `undefined` when nothing else is in it. */
export function withoutModernMeta(meta: unknown): unknown {
  if (!isObject(meta)) return meta;
  const kept = Object.entries(meta).filter(([key]) => !MODERN_META.has(key));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
