import {
  ROOT_CONTEXT,
  SpanKind,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type SpanContext,
} from "@opentelemetry/api";
import type { Answer, Call, Json, Next } from "propylon";
import { amendCall } from "propylon/kit";
import { kindOf, type HopFacts } from "./attributes.ts";
import { callerOf, readOwn } from "./context.ts";
import type { Contexts, Situated } from "./contexts.ts";
import { CallSpan, type SpanPlace } from "./spans/call-span.ts";
import { createId } from "./spans/ids.ts";
import type { TraceSampler } from "./spans/sampler.ts";
import type { SpanQueue } from "./spans/span-queue.ts";
import { endTimings, CallTiming, type Measured, type OnEnd } from "./timing.ts";

/** What the spans of relayed calls are made with. */
export interface RelayedTraces {
  readonly sampler: TraceSampler;
  readonly queue: SpanQueue;
}

/** Makes the span of a relayed call, where its trace is kept, and passes on the trace context in any case. */
export function serve(
  { sampler, queue }: RelayedTraces,
  contexts: Contexts,
  call: Call,
  next: Next,
  told: Measured & { readonly args: (call: Call) => Attributes | undefined },
): Promise<Answer> {
  const around = contexts.now();
  const place = placeBelow(sampler, callerOf(call.meta, around), around);
  const span = place.isKept
    ? new CallSpan(call, place, { kind: kindOf(call), args: told.args(call) })
    : undefined;
  const timing = new CallTiming(call, told, span && toQueue(queue, span));
  const before = contexts.enter(place);
  try {
    const answer = next(amendCall(call, { meta: place.meta(call.meta) }));
    endTimings(answer, timing, place.takeHop(answer));
    return answer;
  } finally {
    contexts.enter(before);
  }
}

/** Makes the span of the hop to a server, below the one that the call's `_meta` names, and gives the server its `traceparent`. */
export function hop(
  { sampler, queue }: RelayedTraces,
  contexts: Contexts,
  call: Call,
  next: Next,
  facts: HopFacts,
  measured: Measured,
): Promise<Answer> {
  const around = stageOf(contexts, call.meta);
  if (around ? !around.isKept : isUnkept(call))
    return timeHop(around, new CallTiming(call, measured), next(call));
  const caller = around?.spanContext() ?? readOwn(call.meta) ?? callerOf(call.meta, contexts.now());
  const place = placeBelow(sampler, caller, ROOT_CONTEXT);
  const span = new CallSpan(call, place, { kind: SpanKind.CLIENT, hop: facts });
  const timing = new CallTiming(call, measured, place.isKept ? toQueue(queue, span) : undefined);
  return timeHop(around, timing, next(amendCall(call, { meta: place.meta(call.meta) })));
}

/** Whether the trace of a call is not recorded: every standard sampler decides for a whole trace, and the span around has asked it. */
export function isUnkept({ meta }: Call): boolean {
  const traceparent = meta?.["traceparent"];
  return typeof traceparent === "string" && traceparent.endsWith("-00");
}

/** The span around a hop, by the `_meta` that it wrote. Most calls get here within one turn: nothing need be read then. */
function stageOf({ stage }: Contexts, meta: Json | undefined): Place | undefined {
  return stage instanceof Place && stage.wrote(meta) ? stage : undefined;
}

/** Ends the timing of a hop with its answer: most often that is the one of the call around it, too. */
function timeHop(
  around: Place | undefined,
  timing: CallTiming,
  answer: Promise<Answer>,
): Promise<Answer> {
  if (!around?.giveHop(timing, answer)) endTimings(answer, timing);
  return answer;
}

function placeBelow(
  sampler: TraceSampler,
  caller: SpanContext | undefined,
  around: Context,
): Place {
  const traceId = caller?.traceId ?? createId(16);
  return new Place(traceId, caller, around, sampler.keeps(traceId, caller?.traceFlags));
}

/** Where a call is in its trace. */
class Place implements SpanPlace, Situated {
  readonly traceId: string;
  readonly spanId = createId(8);
  readonly parentId: string | undefined;
  readonly isParentRemote: boolean;
  readonly tracestate: string | undefined;
  readonly isKept: boolean;
  readonly #caller: SpanContext | undefined;
  readonly #around: Context;
  #meta: Json | undefined;
  #hop: { readonly timing: CallTiming; readonly answer: Promise<Answer> } | undefined;

  constructor(traceId: string, caller: SpanContext | undefined, around: Context, isKept: boolean) {
    this.traceId = traceId;
    this.parentId = caller?.spanId;
    this.isParentRemote = caller?.isRemote === true;
    this.tracestate = caller?.traceState?.serialize();
    this.isKept = isKept;
    this.#caller = caller;
    this.#around = around;
  }

  /** For code that asks: spans of its own belong below this one, which is not theirs to change. */
  context(): Context {
    return trace.setSpanContext(this.#around, this.spanContext());
  }

  spanContext(): SpanContext {
    const { traceId, spanId } = this;
    const traceFlags = this.isKept ? TraceFlags.SAMPLED : TraceFlags.NONE;
    const traceState = this.#caller?.traceState;
    return traceState
      ? { traceId, spanId, traceFlags, traceState }
      : { traceId, spanId, traceFlags };
  }

  /** The `_meta` of what is called next. */
  meta(before: Json | undefined): Json {
    const traceparent = `00-${this.traceId}-${this.spanId}-0${this.isKept ? 1 : 0}`;
    const { tracestate } = this;
    return (this.#meta =
      before === undefined && tracestate === undefined
        ? { traceparent }
        : { ...before, traceparent, ...(tracestate && { tracestate }) });
  }

  /** Whether a `_meta` is the one that this place made. */
  wrote(meta: Json | undefined): boolean {
    return meta !== undefined && meta === this.#meta;
  }

  /** Notes the first hop that is made before the stages around it return. @returns whether it is noted */
  giveHop(timing: CallTiming, answer: Promise<Answer>): boolean {
    if (this.#hop) return false;
    this.#hop = { timing, answer };
    return true;
  }

  /** The hop that ends with the same answer; one that does not ends with its own. */
  takeHop(answer: Promise<Answer>): CallTiming | undefined {
    const noted = this.#hop;
    if (!noted || noted.answer === answer) return noted?.timing;
    endTimings(noted.answer, noted.timing);
    return undefined;
  }
}

function toQueue(queue: SpanQueue, span: CallSpan): OnEnd {
  return (took, failure) => {
    span.end(took, failure);
    queue.add(span);
  };
}
