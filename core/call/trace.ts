import type { Json } from "../kit/types.ts";
import { isObject } from "../kit/json.ts";

/** Where trace context comes from: HTTP headers as Node or `fetch` give them, NATS headers, or the `_meta` of a call. */
export type TraceCarrier =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, unknown>>;

/** The three names of W3C Trace Context and W3C Baggage, the same as HTTP header, NATS header and `_meta` key (SEP-414). */
const KEYS = ["traceparent", "tracestate", "baggage"] as const;

/** Version 00 has four fields; later ones may add some behind them, and ff is not a version (Trace Context, section 3.2). */
const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{0,256})?$/;
const HEX = "[0-9a-f]";
/** The usual one, whose digits are written out: V8 tests a text of a known length five times as fast as one with counted parts. */
const PLAIN = new RegExp(
  `^00-(?!0{32})${HEX.repeat(32)}-(?!0{16})${HEX.repeat(16)}-${HEX.repeat(2)}$`,
);
/** One list-member (Trace Context, section 3.3.1.3), or an empty one. */
const MEMBER =
  /^(?:[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e])?$/;
const MAX_MEMBERS = 32;
/** Longest list of so many members, with room for spaces: what is split must have a bound. */
const MAX_TRACESTATE = MAX_MEMBERS * 516;
/** Printable ASCII: anything else would break, or break out of, the header it becomes (Baggage, section 3.3). */
const BAGGAGE = /^[\x20-\x7e\t]{1,8192}$/;

/**
 * Reads trace context, without anything malformed: an invalid `traceparent` takes its `tracestate` along (Trace Context,
 * section 3.2.2.3), while baggage stands for itself.
 * @returns what belongs into `CallInput.meta`; `undefined` when there is nothing
 *
 * @example const headers = traceOf(call.meta ?? {}) ?? {}; // traceparent and tracestate, if there is a trace
 */
export function traceOf(carrier: TraceCarrier): Json | undefined {
  const [traceparent, tracestate, baggage] = isGetter(carrier)
    ? [carrier.get("traceparent"), carrier.get("tracestate"), carrier.get("baggage")]
    : [carrier["traceparent"], carrier["tracestate"], carrier["baggage"]];
  const trace: Json = {};
  if (typeof traceparent === "string" && isTraceparent(traceparent)) {
    trace["traceparent"] = traceparent;
    if (typeof tracestate === "string" && isTracestate(tracestate))
      trace["tracestate"] = tracestate;
  }
  if (typeof baggage === "string" && BAGGAGE.test(baggage)) trace["baggage"] = baggage;
  return Object.keys(trace).length === 0 ? undefined : trace;
}

/** The `_meta` of a call without malformed trace context; the same object when it has none at all. */
export function cleanTrace(meta: Json | undefined): Json | undefined {
  if (meta === undefined || !KEYS.some((key) => meta[key] !== undefined)) return meta;
  const { traceparent: _traceparent, tracestate: _tracestate, baggage: _baggage, ...others } = meta;
  const clean = { ...others, ...traceOf(meta) };
  return Object.keys(clean).length === 0 ? undefined : clean;
}

/**
 * The `_meta` of a call that came with HTTP headers: what it says of a trace counts, else what they say (protocols.md 6).
 *
 * @example const meta = adoptTrace(params?._meta, req.headers);
 */
export function adoptTrace(
  meta: Json | undefined,
  headers: Readonly<Record<string, unknown>>,
): Json | undefined {
  const own = cleanTrace(meta);
  if (headers["traceparent"] === undefined && headers["baggage"] === undefined) return own;
  const trace = own?.["traceparent"] === undefined ? traceOf(headers) : undefined;
  return trace ? { ...trace, ...own } : own;
}

/**
 * The trace context of a call as HTTP headers, name and value in turn; `undefined` when there is none.
 *
 * @example const headers = [...own, ...(traceHeaders(call.meta) ?? [])];
 */
export function traceHeaders(meta: Json | undefined): string[] | undefined {
  if (meta === undefined) return undefined;
  const { traceparent, tracestate, baggage } = meta;
  // What a traced call usually has: nothing else to look at.
  if (typeof traceparent === "string" && tracestate === undefined && baggage === undefined)
    return isTraceparent(traceparent) ? ["traceparent", traceparent] : undefined;
  const trace = traceOf(meta);
  return trace && Object.entries(trace).flatMap(([key, value]) => [key, String(value)]);
}

function isTraceparent(text: string): boolean {
  return PLAIN.test(text) || TRACEPARENT.test(text);
}

function isGetter(carrier: TraceCarrier): carrier is Extract<TraceCarrier, { get: unknown }> {
  return "get" in carrier && typeof carrier.get === "function";
}

function isTracestate(text: string): boolean {
  if (text.length > MAX_TRACESTATE) return false;
  const members = text.split(",").map((member) => member.trim());
  const keys = members.flatMap((member) => member.split("=", 1)).filter((key) => key !== "");
  return (
    keys.length > 0 &&
    keys.length <= MAX_MEMBERS &&
    new Set(keys).size === keys.length &&
    members.every((member) => MEMBER.test(member))
  );
}

/** Keys of `_meta` that begin so are set by the gateway alone. */
const RESERVED_META = "propylon/";

/** The one such key that clients may send: how long a call may run. It is for the gateway, and goes no further. */
const FOR_US = "propylon/timeout";

/**
 * `_meta` without the keys that only the gateway sets: a reader must be able to believe those. The same object where it has
 * none.
 *
 * @example const meta = withoutReserved(params["_meta"]);
 */
export function withoutReserved(meta: Json | undefined): Json | undefined {
  for (const key in meta) if (key.startsWith(RESERVED_META)) return drop(meta, () => false);
  return meta;
}

/**
 * The same of what a client sends, which may say how long its call may run.
 *
 * @example const meta = withoutClaims(request.params._meta);
 */
export function withoutClaims(meta: Json | undefined): Json | undefined {
  for (const key in meta)
    if (key.startsWith(RESERVED_META) && key !== FOR_US)
      return drop(meta, (each) => each === FOR_US);
  return meta;
}

/**
 * An object that has `_meta`, such as a result or parameters, without the reserved keys in that. The same object where there are none.
 *
 * @example const result = cleanMeta(await peer.ask(method, params));
 */
export function cleanMeta<T extends Json>(owner: T): T {
  const { _meta: meta } = owner;
  if (!isObject(meta)) return owner;
  const clean = withoutReserved(meta);
  if (clean === meta) return owner;
  const { _meta, ...rest } = owner;
  return (clean === undefined ? rest : { ...rest, _meta: clean }) as T;
}

function drop(meta: Json, keeps: (key: string) => boolean): Json | undefined {
  const kept = Object.entries(meta).filter(([key]) => !key.startsWith(RESERVED_META) || keeps(key));
  // Not by assignment: a key `__proto__` stays data.
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
