import { ProxyTracerProvider, trace, type Tracer } from "@opentelemetry/api";
import { definePlugin } from "propylon";
import { observeCalls, observeHops, type Observation } from "./calls.ts";
import { createDurations, timeSessions, type Durations } from "./durations.ts";
import { Exports } from "./exports.ts";
import { optionsSchema, readSettings } from "./options.ts";
import type { Pipeline } from "./pipeline.ts";
import { SDK_PACKAGES } from "./sdk.ts";
import { SCOPE } from "./span.ts";

export { contextOf, metaOf } from "./context.ts";
export { failSpan, SCOPE, withSpan, type Spanned, type SpanInput } from "./span.ts";

/** Traces and metrics by OpenTelemetry, under the names of its MCP and GenAI conventions. */
export default definePlugin({
  name: "telemetry",
  config: optionsSchema,
  // The environment may name an endpoint where it runs.
  needs: ({ endpoint }) => ({ packages: endpoint === undefined ? undefined : SDK_PACKAGES }),
  setup(gateway) {
    const { config, log } = gateway;
    const { name } = gateway.info.effectiveConfig() as { name?: string };
    const settings = readSettings(config, name ?? "propylon");
    const exports = gateway.keep("exports", () => new Exports());
    let pipeline: Pipeline | undefined;
    let tracer: Tracer | undefined;
    let durations: Durations | undefined;
    const observation: Observation = {
      tracer: () => (pipeline ? tracer : tracerAround()),
      traces: () => pipeline?.relayed,
      durations: () => (durations ??= createDurations(pipeline)),
      get servers() {
        return gateway.info.servers;
      },
      captureArguments: config.captureArguments,
    };
    gateway.use("observe", observeCalls(observation));
    gateway.use("dispatch", observeHops(observation));
    timeSessions(gateway, observation.durations);
    gateway.onStart(async () => {
      if (!settings) {
        log.info("no OTLP endpoint is set: trace context is passed on, nothing is exported");
        return undefined;
      }
      const acquired = await exports.acquire(settings, log);
      ({ pipeline } = acquired);
      tracer = (pipeline.tracers ?? trace).getTracer(SCOPE);
      return acquired.release;
    });
  },
});

/** Tracer of the SDK that the application around the gateway registered; `undefined` when it registered none. */
function tracerAround(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer(SCOPE)
    : provider.getTracer(SCOPE);
}
