import { isatty } from "node:tty";
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
 * Credentials are replaced by `[redacted]`. JSON is written in the background, what is left when the process exits.
 *
 * @param destination default: standard output (C56, R069)
 */
export async function createLogger(
  config: GatewayConfig["log"],
  destination?: DestinationStream,
): Promise<Logger> {
  const pretty =
    config.format === "pretty" ||
    (config.format === "auto" && destination === undefined && isatty(1));
  const stream = destination ?? (pretty ? await prettyStream() : jsonStream());
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

/** What a stalled reader may leave unwritten before lines are dropped, in bytes: a full disk must not end the gateway. */
const MAX_UNWRITTEN = 16 * 1_048_576;

function jsonStream(): DestinationStream {
  // A minLength of 0 would turn flush() into nothing.
  return pino.destination({ dest: 1, sync: false, minLength: 1, maxLength: MAX_UNWRITTEN });
}

/** Imported only where a person reads along: it costs start-up time, and a transport thread would not bundle. */
async function prettyStream(): Promise<DestinationStream> {
  const { default: pretty } = await import("pino-pretty");
  return pretty({
    sync: true,
    destination: 1,
    timestampKey: "ts",
    levelKey: "level",
    ignore: "pid,hostname",
  });
}
