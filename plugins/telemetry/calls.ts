import {
  context,
  SpanKind,
  trace,
  type Attributes,
  type Context,
  type Histogram,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import {
  amendCall,
  type Answer,
  type Call,
  type Middleware,
  type Next,
  type Provider,
} from "propylon";
import {
  describeArguments,
  describeCall,
  describeFailure,
  describeOperation,
  describeServer,
  kindOf,
  nameOf,
} from "./attributes.ts";
import { metaOf, spanContextOf } from "./context.ts";
import type { Durations } from "./durations.ts";
import { failSpan } from "./span.ts";

/** What calls are observed with. */
export interface Observation {
  /** `undefined`: nobody wants to know anything. */
  readonly tracer: () => Tracer | undefined;
  readonly durations: () => Durations;
  readonly servers: ReadonlyMap<string, Provider>;
  readonly captureArguments: boolean;
}

/** The stage `observe`: one span for each call, below the one that its `_meta` names, else below that of the moment. */
export function observeCalls(observation: Observation): Middleware {
  const { captureArguments } = observation;
  return (call, next) => {
    const tracer = observation.tracer();
    if (!tracer) return next(call);
    const attributes = describeCall(call);
    if (captureArguments) Object.assign(attributes, describeArguments(call));
    return within(call, next, {
      tracer,
      histogram: observation.durations().served,
      kind: kindOf(call),
      attributes,
      operation: describeOperation(call),
    });
  };
}

/** Next to the server: the hop to it is a span of its own, whose `traceparent` is what the server gets. */
export function observeHops(observation: Observation): Middleware {
  return (call, next) => {
    const tracer = observation.tracer();
    const provider = tracer && observation.servers.get(call.server);
    // What a plugin or agent of this process answers is no hop.
    if (!provider || provider.status.transport === "local") return next(call);
    const operation = { ...describeOperation(call), "propylon.server": call.server };
    return within(call, next, {
      tracer,
      histogram: observation.durations().relayed,
      kind: SpanKind.CLIENT,
      attributes: { ...operation, ...describeServer(provider) },
      operation,
    });
  };
}

/** How one span of a call looks. */
interface CallSpan {
  readonly tracer: Tracer;
  readonly histogram: Histogram;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  /** Attributes of the histogram. */
  readonly operation: Attributes;
}

/** Runs the rest of the pipeline within a span. */
function within(call: Call, next: Next, look: CallSpan): Promise<Answer> {
  const { tracer, histogram, kind, attributes, operation } = look;
  const started = performance.now();
  const parent = parentOf(call);
  const span = tracer.startSpan(nameOf(call), { kind, attributes }, parent);
  const own = metaOf(span.spanContext());
  const inner =
    own.traceparent === undefined ? call : amendCall(call, { meta: { ...call.meta, ...own } });
  const answer = context.with(trace.setSpan(parent, span), next, undefined, inner);
  const end = (outcome: Answer | Error): void => {
    const failure = describeFailure(outcome);
    histogram.record((performance.now() - started) / 1_000, { ...operation, ...failure });
    finish(span, failure);
  };
  answer.then(end, (thrown: unknown) => end(thrown instanceof Error ? thrown : new Error()));
  return answer;
}

function parentOf({ meta }: Call): Context {
  const around = context.active();
  const parent = meta && spanContextOf(meta);
  return parent ? trace.setSpanContext(around, parent) : around;
}

function finish(span: Span, failure: Attributes | undefined): void {
  if (failure) {
    span.setAttributes(failure);
    failSpan(span, String(failure["error.type"]));
  }
  span.end();
}
