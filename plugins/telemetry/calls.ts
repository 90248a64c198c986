import {
  context,
  SpanKind,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import type { Answer, Call, Middleware, Next, Server } from "propylon";
import { amendCall } from "propylon/kit";
import { describeArguments, describeCall, describeHop, kindOf, spanNameOf } from "./attributes.ts";
import { callerOf, metaOf } from "./context.ts";
import type { Durations } from "./durations.ts";
import { contextOfMoment, quietContexts } from "./registration.ts";
import { hop, isUnkept, serve, type RelayedTraces } from "./relayed-calls.ts";
import { failSpan } from "./span.ts";
import { endTimings, CallTiming, type Measured, type OnEnd } from "./timing.ts";

/** What calls are observed with. */
export interface Observation {
  /** `undefined`: nobody wants to know anything. */
  readonly tracer: () => Tracer | undefined;
  /** Where spans are the gateway's own to export; else they are the SDK's of the application around it. */
  readonly traces: () => RelayedTraces | undefined;
  readonly durations: () => Durations;
  readonly servers: ReadonlyMap<string, Server>;
  readonly captureArguments: boolean;
}

/** The stage `observe`: one span for each call, below the one that its `_meta` names, else below that of the moment. */
export function observeCalls(observation: Observation): Middleware {
  const args = (call: Call): Attributes | undefined =>
    observation.captureArguments ? describeArguments(call) : undefined;
  return (call, next) => {
    const tracer = observation.tracer();
    if (!tracer) return next(call);
    const { served: series } = observation.durations();
    const traces = observation.traces();
    const contexts = quietContexts();
    if (traces && contexts && isRelayed(observation.servers.get(call.server)))
      return serve(traces, contexts, call, next, { series, server: "", args });
    const attributes = (): Attributes => ({ ...describeCall(call), ...args(call) });
    const isOwn = traces !== undefined;
    return within(call, next, {
      tracer,
      isOwn,
      kind: kindOf(call),
      attributes,
      series,
      server: "",
    });
  };
}

/** Next to the server: the hop to it is a span of its own, whose `traceparent` is what the server gets. */
export function observeHops(observation: Observation): Middleware {
  return (call, next) => {
    const tracer = observation.tracer();
    const provider = tracer && observation.servers.get(call.server);
    // What a plugin or agent of this process answers is not a hop.
    if (!isRelayed(provider)) return next(call);
    const { server } = call;
    const { relayed: series } = observation.durations();
    const traces = observation.traces();
    const contexts = quietContexts();
    const { status } = provider;
    if (traces && contexts) return hop(traces, contexts, call, next, status, { series, server });
    if (traces && isUnkept(call)) return timed(call, next, { series, server });
    return within(call, next, {
      // Member by member: V8 takes eighty times as long for a spread that a closure follows.
      series,
      server,
      tracer: tracer!,
      isOwn: traces !== undefined,
      kind: SpanKind.CLIENT,
      attributes: () => describeHop(call, status),
    });
  };
}

/** Whether a server is another process: its calls run no code of this one that could ask for a span. */
function isRelayed(server: Server | undefined): server is Server {
  return server !== undefined && server.status.transport !== "local";
}

/** How a span of the SDK looks. */
interface CallSpan extends Measured {
  readonly tracer: Tracer;
  /** Whether the sampler is one of the standard ones, which do not look at attributes. */
  readonly isOwn: boolean;
  readonly kind: SpanKind;
  /** Of the span, for one that is recorded. */
  readonly attributes: () => Attributes;
}

/** Runs the rest of the pipeline within a span of the SDK, which everything that it calls finds in its context. */
function within(call: Call, next: Next, look: CallSpan): Promise<Answer> {
  const parent = parentOf(call);
  const span = startSpan(spanNameOf(call), look, parent);
  const own = metaOf(span.spanContext());
  const inner =
    own.traceparent === undefined ? call : amendCall(call, { meta: { ...call.meta, ...own } });
  const around = trace.setSpan(parent, span);
  const work = (): Promise<Answer> => context.with(around, next, undefined, inner);
  return timed(call, work, look, span.isRecording() ? finisher(span) : undefined);
}

/** Most spans are not recorded where few traces are: their attributes are not even put together. */
function startSpan(name: string, look: CallSpan, parent: Context): Span {
  const { tracer, isOwn, kind, attributes } = look;
  if (!isOwn) return tracer.startSpan(name, { kind, attributes: attributes() }, parent);
  const span = tracer.startSpan(name, { kind }, parent);
  return span.isRecording() ? span.setAttributes(attributes()) : span;
}

/** Measures a call. */
function timed(call: Call, work: Next, measured: Measured, onEnd?: OnEnd): Promise<Answer> {
  const timing = new CallTiming(call, measured, onEnd);
  const answer = work(call);
  endTimings(answer, timing);
  return answer;
}

function parentOf({ meta }: Call): Context {
  const around = contextOfMoment();
  const caller = callerOf(meta, around);
  return caller === undefined || caller === trace.getSpanContext(around)
    ? around
    : trace.setSpanContext(around, caller);
}

function finisher(span: Span): OnEnd {
  return (_took, failure) => {
    if (failure) {
      span.setAttributes(failure);
      // A client that cancels is not a fault of the operation: the conventions for RPC leave its status unset.
      if (failure["error.type"] !== "cancelled") failSpan(span, String(failure["error.type"]));
    }
    span.end();
  };
}
