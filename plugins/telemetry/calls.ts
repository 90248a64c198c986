import {
  context,
  SpanKind,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type Tracer,
} from "@opentelemetry/api";
import type { Answer, Call, Json, Middleware, Next, Server } from "propylon";
import { amendCall } from "propylon/kit";
import {
  describeArguments,
  describeCall,
  failureAttributes,
  describeOperation,
  describeServer,
  kindOf,
  seriesKey,
  spanNameOf,
} from "./attributes.ts";
import { metaOf, spanContextOf } from "./context.ts";
import type { Durations } from "./durations.ts";
import type { KeyedSeries } from "./histogram.ts";
import { failSpan } from "./span.ts";

/** What calls are observed with. */
export interface Observation {
  /** `undefined`: nobody wants to know anything. */
  readonly tracer: () => Tracer | undefined;
  /** Whether spans are the gateway's own to export; else they are the SDK's of the application around it. */
  readonly exportsTraces: () => boolean;
  readonly durations: () => Durations;
  readonly servers: ReadonlyMap<string, Server>;
  readonly captureArguments: boolean;
}

/** The stage `observe`: one span for each call, below the one that its `_meta` names, else below that of the moment. */
export function observeCalls(observation: Observation): Middleware {
  const { captureArguments } = observation;
  return (call, next) => {
    const tracer = observation.tracer();
    if (!tracer) return next(call);
    return within(call, next, {
      tracer,
      isOwn: observation.exportsTraces(),
      series: observation.durations().served,
      server: "",
      kind: kindOf(call),
      attributes: () => ({
        ...describeCall(call),
        ...(captureArguments && describeArguments(call)),
      }),
    });
  };
}

/** Next to the server: the hop to it is a span of its own, whose `traceparent` is what the server gets. */
export function observeHops(observation: Observation): Middleware {
  return (call, next) => {
    const tracer = observation.tracer();
    const provider = tracer && observation.servers.get(call.server);
    // What a plugin or agent of this process answers is not a hop.
    if (!provider || provider.status.transport === "local") return next(call);
    const { server } = call;
    const series = observation.durations().relayed;
    const isOwn = observation.exportsTraces();
    // Every standard sampler decides for a whole trace, and the span around us has asked it.
    if (isOwn && isLeftOut(call)) return timed(call, () => next(call), { series, server });
    return within(call, next, {
      // Member by member: V8 takes eighty times as long for a spread that a closure follows.
      series,
      server,
      tracer,
      isOwn,
      kind: SpanKind.CLIENT,
      attributes: () => ({ ...describeOperation(call, server), ...describeServer(provider) }),
    });
  };
}

/** Where the duration of a call is counted. */
interface Measured {
  readonly series: KeyedSeries;
  /** `""` where the histogram does not tell servers apart. */
  readonly server: string;
}

/** How one span of a call looks. */
interface CallSpan extends Measured {
  readonly tracer: Tracer;
  /** Whether the sampler is one of the standard ones, which do not look at attributes. */
  readonly isOwn: boolean;
  readonly kind: SpanKind;
  /** Of the span, for one that is recorded. */
  readonly attributes: () => Attributes;
}

/** Runs the rest of the pipeline within a span. */
function within(call: Call, next: Next, look: CallSpan): Promise<Answer> {
  const parent = parentOf(call);
  const span = startSpan(spanNameOf(call), look, parent);
  const own = metaOf(span.spanContext());
  const inner =
    own.traceparent === undefined ? call : amendCall(call, { meta: { ...call.meta, ...own } });
  const around = trace.setSpan(parent, span);
  const work = (): Promise<Answer> => context.with(around, next, undefined, inner);
  return timed(call, work, look, span);
}

/** Most spans are not recorded where few traces are: their attributes are not even put together. */
function startSpan(name: string, look: CallSpan, parent: Context): Span {
  const { tracer, isOwn, kind, attributes } = look;
  if (!isOwn) return tracer.startSpan(name, { kind, attributes: attributes() }, parent);
  const span = tracer.startSpan(name, { kind }, parent);
  return span.isRecording() ? span.setAttributes(attributes()) : span;
}

/** Measures a call, and ends its span. */
function timed(
  call: Call,
  work: () => Promise<Answer>,
  { series, server }: Measured,
  span?: Span,
): Promise<Answer> {
  const started = performance.now();
  const answer = work();
  const end = (outcome: Answer | Error): void => {
    const failure = failureAttributes(outcome);
    const describe = (): Attributes => ({ ...describeOperation(call, server), ...failure });
    series
      .find(seriesKey(call, server, failure), describe)
      .record((performance.now() - started) / 1_000);
    if (span?.isRecording()) finish(span, failure);
  };
  answer.then(end, (thrown: unknown) => end(thrown instanceof Error ? thrown : new Error()));
  return answer;
}

/** Whether the trace of a call is not recorded, by the `traceparent` of the span around it, which is of our writing. */
function isLeftOut({ meta }: Call): boolean {
  const traceparent = meta?.["traceparent"];
  return typeof traceparent === "string" && traceparent.endsWith("-00");
}

function parentOf({ meta }: Call): Context {
  const around = context.active();
  // The span around the hop has written this `_meta`: what it says need not be read again.
  if (!meta || names(meta, trace.getSpanContext(around))) return around;
  const parent = spanContextOf(meta);
  return parent ? trace.setSpanContext(around, parent) : around;
}

/** Whether a `_meta` is below the span: the second and third field of `traceparent`. */
function names({ traceparent }: Json, span: SpanContext | undefined): boolean {
  return (
    span !== undefined &&
    typeof traceparent === "string" &&
    traceparent.startsWith(`${span.traceId}-${span.spanId}-`, 3)
  );
}

function finish(span: Span, failure: Attributes | undefined): void {
  if (failure) {
    span.setAttributes(failure);
    // A client that cancels is not a fault of the operation: the conventions for RPC leave its status unset.
    if (failure["error.type"] !== "cancelled") failSpan(span, String(failure["error.type"]));
  }
  span.end();
}
