import { GatewayError } from "propylon";

/** The packages of the OpenTelemetry SDK that are needed to export. */
export interface TelemetrySdk {
  readonly traces: typeof import("@opentelemetry/sdk-trace-base");
  readonly metrics: typeof import("@opentelemetry/sdk-metrics");
  readonly resources: typeof import("@opentelemetry/resources");
  readonly contexts: typeof import("@opentelemetry/context-async-hooks");
  readonly metricExport: typeof import("@opentelemetry/exporter-metrics-otlp-http");
}

/** What {@link TelemetrySdk} is installed as. */
export const SDK_PACKAGES = [
  "@opentelemetry/sdk-trace-base",
  "@opentelemetry/sdk-metrics",
  "@opentelemetry/resources",
  "@opentelemetry/context-async-hooks",
  "@opentelemetry/exporter-metrics-otlp-http",
];

/**
 * Imports the SDK at first use: a gateway that exports nothing needs none of it.
 * @throws {GatewayError} `invalid` when a package is not installed; names the command that installs all
 */
export async function loadTelemetrySdk(): Promise<TelemetrySdk> {
  try {
    return await importSdk();
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new GatewayError("invalid", "Packages that export telemetry are not installed.", {
      cause,
      hint: `Install them: npm install ${SDK_PACKAGES.join(" ")}`,
    });
  }
}

async function importSdk(): Promise<TelemetrySdk> {
  const [traces, metrics, resources, contexts, metricExport] = await Promise.all([
    import("@opentelemetry/sdk-trace-base"),
    import("@opentelemetry/sdk-metrics"),
    import("@opentelemetry/resources"),
    import("@opentelemetry/context-async-hooks"),
    import("@opentelemetry/exporter-metrics-otlp-http"),
  ]);
  return { traces, metrics, resources, contexts, metricExport };
}

function isMissing(thrown: unknown): boolean {
  return (
    thrown instanceof Error &&
    "code" in thrown &&
    (thrown.code === "ERR_MODULE_NOT_FOUND" || thrown.code === "MODULE_NOT_FOUND")
  );
}
