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

/** Trace context as `_meta` and headers carry it; always W3C, which MCP reserves the names for. */
export function metaOf(span: SpanContext): { traceparent?: string; tracestate?: string } {
  if (!isSpanContextValid(span)) return {};
  const { traceId, spanId, traceFlags, traceState } = span;
  // Of the flags only "sampled" is defined; others must be zero in what one sends (Trace Context, section 3.2.2.5).
  const traceparent = `00-${traceId}-${spanId}-0${traceFlags & 1}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}
