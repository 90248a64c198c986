import { pino, type DestinationStream, type Logger } from "pino";
import type { GatewayConfig } from "./config/schema.ts";

/** Keys that never reach a log, at the top level and one level down. */
const SECRETS = [
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "apiKey",
  "password",
  "token",
  "secret",
];

/**
 * The gateway's logger: one JSON object a line with `ts` (ISO 8601) and a level by name, or readable text on a terminal.
 * Credentials are replaced by `[redacted]`.
 *
 * @param destination default: standard error, so that standard output stays free for a command's own result
 */
export async function createLogger(
  config: GatewayConfig["log"],
  destination?: DestinationStream,
): Promise<Logger> {
  const pretty =
    config.format === "pretty" ||
    (config.format === "auto" && destination === undefined && process.stderr.isTTY);
  const stream =
    destination ?? (pretty ? await prettyStream() : pino.destination({ dest: 2, sync: false }));
  return pino(
    {
      level: config.level,
      base: null,
      timestamp: () => `,"ts":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: SECRETS.flatMap((key) => [`["${key}"]`, `*["${key}"]`]),
        censor: "[redacted]",
      },
    },
    stream,
  );
}

/** Imported only where a person reads along: it costs start-up time, and a transport thread would not bundle. */
async function prettyStream(): Promise<DestinationStream> {
  const { default: pretty } = await import("pino-pretty");
  return pretty({
    sync: true,
    destination: 2,
    timestampKey: "ts",
    levelKey: "level",
    ignore: "pid,hostname",
  });
}
