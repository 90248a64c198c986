import type { LogRow } from "propylon/plugins/events";
import { OUTCOMES, type Verdict } from "../../model.ts";
import { formatSpan, toText } from "../../kit/words.ts";
import { writeJson } from "../../kit/json.ts";

/** Severities, least first. */
export const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

/** One line of the log, as the page shows it. */
export interface Line {
  /** Tells it from others: what comes again when the page asks again is the same line. */
  readonly key: string;
  readonly at: string;
  readonly level: string;
  /** The plugin that wrote it; empty: the gateway. */
  readonly plugin: string;
  readonly what: string;
  /** How a call ended, for the line of a call. */
  readonly end: Verdict | undefined;
  /** Why, where the line says it. */
  readonly why: string;
  readonly server: string;
  readonly tool: string;
  readonly who: string;
  /** Everything that stands in it. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A line as the gateway sends it. `at` is that of the event, for a line that has no time. */
export function toLine({ replica, line }: LogRow, at?: unknown): Line {
  const { level, ts, msg, plugin, server, tool, principal, who } = line;
  const end = endOf(line);
  return {
    key: `${replica ?? ""} ${writeJson(line)}`,
    at: toText(ts ?? at),
    level: typeof level === "number" ? (LEVELS[level / 10 - 1] ?? "info") : toText(level) || "info",
    plugin: toText(plugin),
    what: end ? toText(line["action"]).replace("tools/call", "call") : toText(msg),
    end,
    why: end ? "" : whyOf(line),
    server: toText(server),
    tool: toText(tool),
    who: toText(principal ?? who),
    fields: replica === undefined ? line : { replica, ...line },
  };
}

function endOf(line: LogRow["line"]): Verdict | undefined {
  const { msg, outcome, duration_ms: ms, error_code: code } = line;
  if (msg !== "call" || typeof outcome !== "string" || !Object.hasOwn(OUTCOMES, outcome))
    return undefined;
  const { tone, word } = OUTCOMES[outcome as keyof typeof OUTCOMES];
  const span = typeof ms === "number" ? formatSpan(ms) : "";
  const reason = [span, code === outcome ? "" : toText(code)].filter(Boolean).join(", ");
  return { tone, word, reason };
}

/** The first sentence that says why; the other fields are folded. */
function whyOf({ err, reason, error, hint, action, error_code: code }: LogRow["line"]): string {
  const cause =
    typeof err === "object" && err !== null ? (err as { message?: unknown }).message : err;
  const said = [action, cause, reason, error, code, hint];
  return said.map(toText).filter(Boolean).slice(0, 2).join(": ");
}

/** Whether a line is at least as severe. */
export function isAtLeast({ level }: Line, least: string): boolean {
  const at = (name: string): number => LEVELS.indexOf(name as (typeof LEVELS)[number]);
  return at(level) >= at(least);
}
