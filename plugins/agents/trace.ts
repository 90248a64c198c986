import {
  context,
  metrics,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Span,
} from "@opentelemetry/api";
import { toGatewayError, type Json } from "propylon";
import type { ModelReply, ModelRequest } from "./model.ts";
import type { RunOptions, RunResult } from "./service.ts";

/** Scope of spans and metrics. */
const SCOPE = "propylon";

/** Buckets that the GenAI conventions give for tokens. */
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
/** Buckets that they give for the time of a request to a model, in seconds. */
const SECONDS = Array.from({ length: 14 }, (_, power) => 2 ** power / 100);

/**
 * Runs an agent within a span `invoke_agent <name>` of the OpenTelemetry GenAI conventions. The run gets `meta` with that span, so
 * that its tool calls belong below it; where no SDK is registered (plugin telemetry), with what it came with. Costs about a
 * microsecond then.
 */
export async function traceRun(
  name: string,
  options: RunOptions,
  work: (options: RunOptions) => Promise<RunResult>,
): Promise<RunResult> {
  // Whoever says where it belongs, means it: a run that waited for its turn starts in the context of the one that ended.
  const around = options.meta === undefined ? context.active() : ROOT_CONTEXT;
  const parent = propagation.extract(around, options.meta ?? {});
  const attributes = { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name };
  const tracer = trace.getTracer(SCOPE);
  const span = tracer.startSpan(`invoke_agent ${name}`, { attributes }, parent);
  const own = trace.setSpan(parent, span);
  const carrier: Json = {};
  propagation.inject(own, carrier);
  const meta = { ...options.meta, ...carrier };
  return context.with(own, () =>
    finish(
      span,
      () => work({ ...options, meta }),
      ({ usage, end, turns }) => ({
        ...usageOf(usage),
        "propylon.agent.end": end,
        "propylon.agent.turns": turns,
      }),
    ),
  );
}

/**
 * Makes a request to a model within a span `chat <model>`, and counts its tokens and time.
 * @param type kind of the provider, e.g. `anthropic`
 * @param model name at the provider
 */
export async function traceChat(
  { type, model }: { readonly type: string; readonly model: string },
  { maxOutputTokens, temperature }: ModelRequest,
  work: () => Promise<ModelReply>,
): Promise<ModelReply> {
  const about: Attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": type,
    "gen_ai.request.model": model,
  };
  const attributes = {
    ...about,
    ...(maxOutputTokens !== undefined && { "gen_ai.request.max_tokens": maxOutputTokens }),
    ...(temperature !== undefined && { "gen_ai.request.temperature": temperature }),
  };
  const tracer = trace.getTracer(SCOPE);
  const span = tracer.startSpan(`chat ${model}`, { kind: SpanKind.CLIENT, attributes });
  const started = performance.now();
  const reply = context.with(trace.setSpan(context.active(), span), () =>
    finish(span, work, ({ usage, finish: reason }) => ({
      ...usageOf(usage),
      "gen_ai.response.finish_reasons": [reason],
    })),
  );
  const time = (more?: Attributes): void =>
    recordTime(performance.now() - started, { ...about, ...more });
  reply.then(
    ({ usage }) => {
      time();
      recordTokens(usage, about);
    },
    (thrown: unknown) => time({ "error.type": toGatewayError(thrown).code }),
  );
  return reply;
}

/** Ends a span with what the work came to. No text gets into it: neither what was said nor what an error says. */
async function finish<T>(
  span: Span,
  work: () => Promise<T>,
  describe: (value: T) => Attributes,
): Promise<T> {
  try {
    const value = await work();
    span.setAttributes(describe(value));
    return value;
  } catch (thrown) {
    span.setAttribute("error.type", toGatewayError(thrown).code);
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw thrown;
  } finally {
    span.end();
  }
}

function usageOf({ inputTokens, outputTokens }: RunResult["usage"]): Attributes {
  return {
    "gen_ai.usage.input_tokens": inputTokens,
    "gen_ai.usage.output_tokens": outputTokens,
  };
}

/** Instruments are looked up anew each time: one made before an SDK is registered would stay silent for ever. */
function recordTime(milliseconds: number, attributes: Attributes): void {
  metrics
    .getMeter(SCOPE)
    .createHistogram("gen_ai.client.operation.duration", {
      unit: "s",
      description: "Time of requests to models.",
      advice: { explicitBucketBoundaries: SECONDS },
    })
    .record(milliseconds / 1_000, attributes);
}

function recordTokens(usage: ModelReply["usage"], attributes: Attributes): void {
  const histogram = metrics.getMeter(SCOPE).createHistogram("gen_ai.client.token.usage", {
    unit: "{token}",
    description: "Tokens read and written by models.",
    advice: { explicitBucketBoundaries: TOKENS },
  });
  histogram.record(usage.inputTokens, { ...attributes, "gen_ai.token.type": "input" });
  histogram.record(usage.outputTokens, { ...attributes, "gen_ai.token.type": "output" });
}
