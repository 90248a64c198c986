import {
  context,
  createContextKey,
  diag,
  DiagLogLevel,
  metrics,
  propagation,
  ROOT_CONTEXT,
  trace,
  type Context,
  type ContextManager,
  type MeterProvider,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
  type TracerProvider,
} from "@opentelemetry/api";
import { Contexts } from "./contexts.ts";
import { metaOf, spanContextOf } from "./context.ts";

/** Tells the log of a gateway what is lost, and why. */
export type Tell = (reason: string) => void;

/** What others of this process find of a pipeline. */
interface Registered {
  readonly tracers: TracerProvider | undefined;
  readonly meters: MeterProvider | undefined;
  readonly createContexts: () => ContextManager;
}

/** Pipelines of this process; the first one is registered, as far as an embedding application left room. */
const live: Registered[] = [];
/** The context of the moment, where it is ours to know. */
let contexts: Contexts | undefined;
/** In which the SDK makes no spans. */
const UNTRACED = ROOT_CONTEXT.setValue(
  createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING"),
  true,
);
/** Takes the providers back that are registered now. */
let undoProviders = (): void => {};
/** Takes back what all pipelines share. */
let undoShared = (): void => {};

/**
 * Registers a pipeline with `@opentelemetry/api`, so that everything that makes spans of its own finds it. What somebody else
 * registered stays.
 * @returns takes it back; another pipeline of the process takes its place
 */
export function register(pipeline: Registered, tell: Tell): () => void {
  live.push(pipeline);
  if (live.length === 1) {
    undoShared = registerShared(pipeline, tell);
    undoProviders = registerProviders(pipeline);
  }
  return () => {
    const wasFirst = live[0] === pipeline;
    live.splice(live.indexOf(pipeline), 1);
    if (!wasFirst) return;
    undoProviders();
    if (live[0]) undoProviders = registerProviders(live[0]);
    else undoShared();
  };
}

/** The context of the moment, where nobody needs to have it carried through a relayed call; else `undefined`. */
export function quietContexts(): Contexts | undefined {
  return contexts?.isAsked === false ? contexts : undefined;
}

/** The context of the moment, for the parents of calls. */
export function contextOfMoment(): Context {
  return contexts ? contexts.now() : context.active();
}

/** Does what must not be traced itself: an export that made spans would never end. */
export function withoutSpans<T>(work: () => T): T {
  return quietContexts() ? work() : context.with(UNTRACED, work);
}

function registerProviders({ tracers, meters }: Registered): () => void {
  const hasTraces = tracers !== undefined && trace.setGlobalTracerProvider(tracers);
  const hasMetrics = meters !== undefined && metrics.setGlobalMeterProvider(meters);
  return () => {
    if (hasTraces) trace.disable();
    if (hasMetrics) metrics.disable();
  };
}

/** What stays while one pipeline follows another: calls in flight must not lose the span they are in. */
function registerShared({ createContexts }: Registered, tell: Tell): () => void {
  const own = new Contexts(createContexts()).enable();
  const hasContexts = context.setGlobalContextManager(own);
  if (hasContexts) contexts = own;
  const hasPropagator = propagation.setGlobalPropagator(new MetaPropagator());
  // An SDK tells of what failed here and nowhere else. Its words, not its objects: those hold the headers of requests.
  const say = (message: string): void => tell(message);
  const logger = { error: say, warn: say, info() {}, debug() {}, verbose() {} };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  return () => {
    if (hasContexts) context.disable();
    contexts = undefined;
    if (hasPropagator) propagation.disable();
    diag.disable();
  };
}

/** W3C Trace Context for code that uses the propagation API. */
class MetaPropagator implements TextMapPropagator {
  inject(from: Context, carrier: unknown, setter: TextMapSetter): void {
    const span = trace.getSpanContext(from);
    for (const [key, value] of Object.entries(span ? metaOf(span) : {}))
      setter.set(carrier, key, value);
  }

  extract(onto: Context, carrier: unknown, getter: TextMapGetter): Context {
    const pairs = this.fields().map((key) => [key, [getter.get(carrier, key) ?? []].flat().join()]);
    const span = spanContextOf(Object.fromEntries(pairs));
    return span ? trace.setSpanContext(onto, span) : onto;
  }

  fields(): string[] {
    return ["traceparent", "tracestate"];
  }
}
