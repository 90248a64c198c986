import { durationSchema } from "propylon";
import { z } from "zod";
import { readLimits, readQueue, readSampler, readSender } from "./environment.ts";
import type { SenderSettings } from "./spans/otlp-sender.ts";
import type { AttributeLimits } from "./spans/otlp-text.ts";
import type { SamplerSettings } from "./spans/sampler.ts";
import type { QueueSettings } from "./spans/span-queue.ts";

/** Options of the telemetry plugin. */
export const optionsSchema = z.strictObject({
  endpoint: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "Base URL of the OTLP/HTTP collector, e.g. http://collector:4318; traces go to /v1/traces below it, metrics to /v1/metrics. Default: OTEL_EXPORTER_OTLP_ENDPOINT. With neither, trace context is passed on and nothing is exported.",
    ),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .describe("Headers for the collector, e.g. authorization; besides OTEL_EXPORTER_OTLP_HEADERS."),
  serviceName: z
    .string()
    .min(1)
    .optional()
    .describe(
      "service.name of everything exported. Default: OTEL_SERVICE_NAME, else the gateway's name.",
    ),
  sampling: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      "Share of the traces begun here that is kept, 0 to 1; a trace that began elsewhere follows its caller. Default: OTEL_TRACES_SAMPLER, else all.",
    ),
  metrics: z
    .boolean()
    .default(true)
    .describe("Export metrics too: durations of calls, sessions, model requests, and tokens."),
  interval: durationSchema()
    .refine((ms) => ms >= 100 && ms <= 86_400_000, "expected 100ms to 1d")
    .optional()
    .describe(
      "Time between two exports of metrics. A bare number is seconds. Default: OTEL_METRIC_EXPORT_INTERVAL (milliseconds), else 60s.",
    ),
  captureArguments: z
    .boolean()
    .default(false)
    .describe(
      "Put arguments of tools into spans, at most 4,096 characters, values of secret names replaced. They may hold what users wrote.",
    ),
});

/** {@link optionsSchema} filled in. */
export type TelemetryOptions = z.output<typeof optionsSchema>;

/** What is exported, and where to; options before environment. Equal settings share one exporter through a reload. */
export interface ExportSettings {
  /** How spans are made and where they go to; `undefined`: nowhere. */
  readonly traces: TraceSettings | undefined;
  readonly metrics: boolean;
  /** Absent: the exporter of metrics reads its own environment variables. */
  readonly endpoint: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent: what the environment says, else {@link fallbackName}. */
  readonly serviceName: string | undefined;
  readonly fallbackName: string;
  /** Milliseconds. */
  readonly interval: number;
}

/** How spans are made, how they wait, and where they go to. */
export interface TraceSettings {
  readonly sampler: SamplerSettings;
  readonly limits: AttributeLimits;
  readonly queue: QueueSettings;
  readonly sender: SenderSettings;
}

/** What the options and the environment of this process ask for together; see {@link settingsOf}. */
export function readSettings(
  options: TelemetryOptions,
  fallbackName: string,
): ExportSettings | undefined {
  return settingsOf(options, process.env, fallbackName);
}

/** What the options and the environment together ask for; `undefined` when nothing is to be exported. */
export function settingsOf(
  options: TelemetryOptions,
  environment: NodeJS.ProcessEnv,
  fallbackName: string,
): ExportSettings | undefined {
  const { headers, serviceName } = options;
  const endpoint = options.endpoint?.replace(/\/+$/, "");
  const isSet = (name: string): boolean => (environment[name] ?? "").trim() !== "";
  const isOn = (signal: "TRACES" | "METRICS"): boolean =>
    environment[`OTEL_${signal}_EXPORTER`]?.trim() !== "none" &&
    (endpoint !== undefined ||
      isSet("OTEL_EXPORTER_OTLP_ENDPOINT") ||
      isSet(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`));
  const traces = isOn("TRACES");
  const metrics = options.metrics && isOn("METRICS");
  const isDisabled = environment["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true";
  if (isDisabled || (!traces && !metrics)) return undefined;
  const said = Number(environment["OTEL_METRIC_EXPORT_INTERVAL"]);
  const interval = options.interval ?? (said >= 1 && said < Infinity ? said : 60_000);
  return {
    traces: traces ? traceSettingsOf(options, endpoint, environment) : undefined,
    metrics,
    endpoint,
    headers,
    serviceName,
    fallbackName,
    interval,
  };
}

function traceSettingsOf(
  { sampling, headers }: TelemetryOptions,
  endpoint: string | undefined,
  environment: NodeJS.ProcessEnv,
): TraceSettings {
  return {
    sampler:
      sampling === undefined ? readSampler(environment) : { ratio: sampling, followsCaller: true },
    limits: readLimits(environment),
    queue: readQueue(environment),
    sender: readSender({ endpoint, headers }, environment),
  };
}
