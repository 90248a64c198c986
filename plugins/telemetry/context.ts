import {
  context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  trace,
  type Context,
  type SpanContext,
} from "@opentelemetry/api";
import type { Json } from "propylon";
import { traceOf } from "propylon/kit";

/**
 * The OpenTelemetry context that a `_meta` belongs to: below the span that it names. Without `_meta` the one of the moment; a
 * `_meta` that names none starts a trace of its own, since work that waited for its turn runs in the context of whatever ended.
 */
export function contextOf(meta: Json | undefined): Context {
  if (meta === undefined) return context.active();
  const parent = spanContextOf(meta);
  return parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
}

/** The span that a `_meta` or headers name; `undefined` without a valid `traceparent`. */
export function spanContextOf(carrier: Json): SpanContext | undefined {
  const known = traceOf(carrier);
  const traceparent = known?.["traceparent"];
  if (typeof traceparent !== "string") return undefined;
  const [, traceId = "", spanId = "", flags = ""] = traceparent.split("-");
  const tracestate = known?.["tracestate"];
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(typeof tracestate === "string" && { traceState: createTraceState(tracestate) }),
  };
}

/** A `traceparent` as {@link metaOf} writes it. */
const OWN = /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/;

/** The span of this process that wrote a `_meta`, as the one around a hop has; `undefined` for what is not of our writing. */
export function readOwn(meta: Json | undefined): SpanContext | undefined {
  const traceparent = meta?.["traceparent"];
  if (typeof traceparent !== "string" || !OWN.test(traceparent)) return undefined;
  const tracestate = meta?.["tracestate"];
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: traceparent.endsWith("1") ? 1 : 0,
    ...(typeof tracestate === "string" && { traceState: createTraceState(tracestate) }),
  };
}

/** The span that a call is below: the one that its `_meta` names, else that of the moment. */
export function callerOf(meta: Json | undefined, around: Context): SpanContext | undefined {
  const moment = trace.getSpanContext(around);
  const own = moment && isSpanContextValid(moment) ? moment : undefined;
  // The span of the moment has written this `_meta`: what it says need not be read again.
  if (!meta || names(meta, own)) return own;
  return spanContextOf(meta) ?? own;
}

/** Whether a `_meta` is below the span: the second and third field of `traceparent`. */
function names({ traceparent }: Json, span: SpanContext | undefined): boolean {
  return (
    span !== undefined &&
    typeof traceparent === "string" &&
    traceparent.startsWith(`${span.traceId}-${span.spanId}-`, 3)
  );
}

/** Trace context as `_meta` and headers carry it; always W3C, which MCP reserves the names for. */
export function metaOf(span: SpanContext): { traceparent?: string; tracestate?: string } {
  if (!isSpanContextValid(span)) return {};
  const { traceId, spanId, traceFlags, traceState } = span;
  // Of the flags only "sampled" is defined; others must be zero in what one sends (Trace Context, section 3.2.2.5).
  const traceparent = `00-${traceId}-${spanId}-0${traceFlags & 1}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}
