import {
  context,
  SpanStatusCode,
  trace,
  type Attributes,
  type Span,
  type SpanKind,
} from "@opentelemetry/api";
import { toGatewayError, type Json } from "propylon";
import { contextOf, metaOf } from "./context.ts";

/** Scope of all spans and metrics of the gateway. */
export const SCOPE = "propylon";

/** What a span says of itself. */
export interface SpanInput {
  /** Default: internal. */
  readonly kind?: SpanKind | undefined;
  readonly attributes?: Attributes | undefined;
  /** Where it belongs: `_meta` of a call, or headers; default: the OpenTelemetry context of the moment. `{}` = a new trace. */
  readonly meta?: Json | undefined;
}

/** What is done within a span. */
export interface Spanned {
  /** The `_meta` that was given, with the span as `traceparent`: for what is called next. */
  readonly meta: Json | undefined;
  readonly span: Span;
}

/**
 * Does work within a span of the registered OpenTelemetry SDK, and ends the span with it; a failure is its `error.type`, without
 * the words. Without an SDK the work is done all the same, with the `_meta` that was given, and costs about a microsecond more.
 */
export function withSpan<T>(
  name: string,
  { kind, attributes, meta }: SpanInput,
  work: (spanned: Spanned) => Promise<T>,
): Promise<T> {
  const parent = contextOf(meta);
  const options = { ...(kind !== undefined && { kind }), ...(attributes && { attributes }) };
  const span = trace.getTracer(SCOPE).startSpan(name, options, parent);
  const own = metaOf(span.spanContext());
  const spanned = { span, meta: withKeys({ ...meta, ...own }) };
  return context.with(trace.setSpan(parent, span), () => endWith(span, () => work(spanned)));
}

/** An empty `_meta` would be sent as one. */
function withKeys(meta: Json): Json | undefined {
  return Object.keys(meta).length === 0 ? undefined : meta;
}

async function endWith<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    failSpan(span, toGatewayError(thrown).code);
    throw thrown;
  } finally {
    span.end();
  }
}

/** Marks a span as failed. @param type code of the error; a message could quote what somebody sent */
export function failSpan(span: Span, type: string): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
