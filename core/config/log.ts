import { isatty } from "node:tty";
import { pino, symbols, type DestinationStream, type Logger } from "pino";
import type { GatewayConfig } from "./schema.ts";
import { StandardOutput } from "../kit/standard-output.ts";
import type { TerminalLog } from "./terminal-log.ts";

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
 * @param destination default: standard output
 *
 * @example const log = await createLogger({ level: "info", format: "json" });
 */
export async function createLogger(
  config: GatewayConfig["log"],
  destination?: DestinationStream,
): Promise<Logger> {
  const pretty =
    config.format === "pretty" ||
    (config.format === "auto" && destination === undefined && isatty(1));
  const stream = destination ?? (pretty ? await terminalStream() : jsonStream());
  return pino(
    {
      level: config.level,
      base: null,
      timestamp: clock(),
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: SECRETS.flatMap((key) => [`["${key}"]`, `*["${key}"]`]),
        censor: "[redacted]",
      },
    },
    stream,
  );
}

/** The time as a field of a line, written again only when the clock has moved: hundreds of lines may have the same millisecond. */
function clock(): () => string {
  let at = 0;
  let field = "";
  return () => {
    const now = Date.now();
    if (now !== at) {
      at = now;
      field = `,"ts":"${new Date(now).toISOString()}"`;
    }
    return field;
  };
}

/**
 * Shows every line of a logger and its children to a listener, as it is written: one redacted JSON object, whatever format the
 * reader of the log sees. What the listener itself logs meanwhile is not shown to it: the log would feed itself. A logger of
 * another copy of pino shows nothing.
 *
 * @param isHeard asked per line, before anything of it is looked at
 * @returns ends it
 */
export function tapLog(
  log: Logger,
  isHeard: () => boolean,
  onLine: (line: string) => void,
): () => void {
  // Not a stream around it: pino leaves notes for some streams on the object itself.
  const stream = streamOf(log);
  if (!stream) return () => {};
  // eslint-disable-next-line typescript/unbound-method -- called with its stream, and put back as it was
  const write = stream.write;
  let isTelling = false;
  let isOver = false;
  const tapped = (line: string): void => {
    write.call(stream, line);
    if (isTelling || isOver || !isHeard()) return;
    isTelling = true;
    try {
      onLine(line.trimEnd());
    } finally {
      isTelling = false;
    }
  };
  stream.write = tapped;
  return () => {
    isOver = true;
    // Another gateway with this logger may have tapped it since.
    if (stream.write === tapped) stream.write = write;
  };
}

function streamOf(log: Logger): DestinationStream | undefined {
  return (log as { [symbols.streamSym]?: DestinationStream })[symbols.streamSym];
}

/** Writes lines that another process made to where this logger writes its own. */
export function writeLines(log: Logger, lines: string): void {
  streamOf(log)?.write(lines);
}

/** There is one, however many loggers write to it. */
let output: StandardOutput | undefined;

/** An object of its own for each logger, whose lines alone are tapped there. */
function jsonStream(): DestinationStream & Pick<StandardOutput, "flush" | "flushSync"> {
  const to = (output ??= new StandardOutput(lostLines));
  return {
    write: (line) => to.write(line),
    flush: (done) => to.flush(done),
    flushSync: () => to.flushSync(),
  };
}

function lostLines(lost: number): string {
  const ts = new Date().toISOString();
  const msg = "lines of the log are lost: they could not be written in time";
  return `${JSON.stringify({ level: "warn", ts, lost, msg })}\n`;
}

/** Imported only where a person reads along: it costs start-up time. */
async function terminalStream(): Promise<DestinationStream> {
  const { TerminalLog } = await import("./terminal-log.ts");
  return new TerminalLog(process.stdout);
}

/**
 * For a start that ends with a summary: until then the log of a terminal shows only problems. What else came is shown afterwards.
 *
 * @returns ends it
 */
export function holdNews(log: Logger): () => void {
  const stream = streamOf(log) as Partial<TerminalLog> | undefined;
  stream?.hold?.();
  return () => stream?.release?.();
}
