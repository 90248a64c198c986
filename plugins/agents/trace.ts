import { metrics, SpanKind, type Attributes } from "@opentelemetry/api";
import { toGatewayError } from "propylon";
import { SCOPE, withSpan } from "propylon/plugins/telemetry";
import type { ModelReply, ModelRequest } from "./model.ts";
import type { RunOptions, RunResult } from "./service.ts";

/** Buckets that the GenAI conventions give for tokens. */
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
/** Buckets that they give for the time of a request to a model, in seconds. */
const SECONDS = Array.from({ length: 14 }, (_, power) => 2 ** power / 100);

/**
 * Runs an agent within a span `invoke_agent <name>` of the OpenTelemetry GenAI conventions. The run gets `meta` with that span, so
 * that its tool calls belong below it; where no SDK is registered (plugin telemetry), with what it came with.
 */
export function traceRun(
  name: string,
  options: RunOptions,
  work: (options: RunOptions) => Promise<RunResult>,
): Promise<RunResult> {
  const attributes = { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name };
  const input = { attributes, meta: options.meta };
  return withSpan(`invoke_agent ${name}`, input, async ({ span, meta }) => {
    const result = await work({ ...options, meta });
    const { usage, end, turns } = result;
    span.setAttributes({
      ...usageOf(usage),
      "propylon.agent.end": end,
      "propylon.agent.turns": turns,
    });
    return result;
  });
}

/**
 * Makes a request to a model within a span `chat <model>`, and counts its tokens and time.
 * @param asked kind of the provider, e.g. `anthropic`, and name of the model there
 */
export async function traceChat(
  asked: { readonly type: string; readonly model: string },
  request: ModelRequest,
  work: () => Promise<ModelReply>,
): Promise<ModelReply> {
  const about = describe(asked);
  const input = { kind: SpanKind.CLIENT, attributes: { ...about, ...describeRequest(request) } };
  const started = performance.now();
  let failure: Attributes = {};
  try {
    return await withSpan(`chat ${asked.model}`, input, async ({ span }) => {
      const reply = await work();
      span.setAttributes({
        ...usageOf(reply.usage),
        "gen_ai.response.finish_reasons": [reply.finish],
      });
      recordTokens(reply.usage, about);
      return reply;
    });
  } catch (thrown) {
    failure = { "error.type": toGatewayError(thrown).code };
    throw thrown;
  } finally {
    recordTime(performance.now() - started, { ...about, ...failure });
  }
}

function describe({ type, model }: { readonly type: string; readonly model: string }): Attributes {
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": type,
    "gen_ai.request.model": model,
  };
}

function describeRequest({ maxOutputTokens, temperature }: ModelRequest): Attributes {
  return {
    ...(maxOutputTokens !== undefined && { "gen_ai.request.max_tokens": maxOutputTokens }),
    ...(temperature !== undefined && { "gen_ai.request.temperature": temperature }),
  };
}

function usageOf({ inputTokens, outputTokens }: RunResult["usage"]): Attributes {
  return {
    "gen_ai.usage.input_tokens": inputTokens,
    "gen_ai.usage.output_tokens": outputTokens,
  };
}

/** Instruments are looked up each time: one made before an SDK is registered would stay silent forever. */
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
