import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
} from "@opentelemetry/api";
import { traceHeaders } from "./headers.ts";
import type { Headers } from "./transport.ts";

const TRACER = "propylon-sidecar";

/** A step of a task's way as a span; without a provider of OpenTelemetry only the trace context that is passed on. */
export class Step {
  /** Trace context for the next step: of this step where there is tracing, else as it came. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #span: Span;
  readonly #context: Context;

  private constructor(span: Span, around: Context, before: Readonly<Record<string, string>>) {
    this.#span = span;
    this.#context = around;
    const carrier = { ...before };
    propagation.inject(around, carrier);
    this.headers = carrier;
  }

  /** The first step here: what came before it is in the headers. */
  static begin(name: string, kind: SpanKind, headers: Headers, facts: Facts): Step {
    const before = traceHeaders(headers);
    return Step.#open(name, kind, propagation.extract(ROOT_CONTEXT, before), before, facts);
  }

  static #open(name: string, kind: SpanKind, parent: Context, before: Headers, facts: Facts): Step {
    const span = trace.getTracer(TRACER).startSpan(name, { kind, attributes: facts }, parent);
    return new Step(span, trace.setSpan(parent, span), before);
  }

  /** A step within this one. */
  next(name: string, kind: SpanKind, facts: Facts): Step {
    return Step.#open(name, kind, this.#context, this.headers, facts);
  }

  /** Does something as part of this step. */
  run<T>(work: () => T): T {
    return context.with(this.#context, work);
  }

  end(facts: Facts = {}, error?: string): void {
    this.#span.setAttributes(facts);
    if (error !== undefined) {
      this.#span.setAttribute("error.type", error);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

type Facts = Readonly<Record<string, string | number>>;

export { SpanKind };
