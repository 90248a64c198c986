import type { CallEnd, CallSource } from "propylon";
import type { KeptArguments } from "./arguments.ts";
import { showResult, type KeptResult, type ShownResult } from "./result.ts";
import type { Secrets } from "./secrets.ts";

/** One tool call as remembered. */
export interface Entry extends CallEnd {
  /** Counts the calls in the order in which they ended; never used twice. */
  readonly number: number;
  /** Id of the call. */
  readonly id: string;
  /** When it arrived, in milliseconds since the epoch. */
  readonly at: number;
  readonly server: string;
  readonly tool: string;
  readonly source: CallSource;
  readonly endpoint: string;
  readonly principal: string;
  /** Words of the failure. */
  readonly message: string | undefined;
  readonly totalMs: number;
  /** Until it was sent to its server; `undefined` when it never was. */
  readonly queuedMs: number | undefined;
  /** Progress reports that were passed on. */
  readonly progress: number;
  /** Whether it had any, kept or not. */
  readonly hasArguments: boolean;
  readonly args: KeptArguments | undefined;
  readonly result: KeptResult | undefined;
  /** Id of the call that this one repeats. */
  readonly replayOf: string | undefined;
  /** Memory it takes, as estimated. */
  readonly bytes: number;
}

/** An entry as the API shows it; the second half only to operators. */
export interface ShownEntry extends ShownResult {
  readonly id: string;
  readonly at: string;
  readonly server: string;
  readonly tool: string;
  readonly source: CallSource;
  readonly endpoint: string;
  readonly principal: string;
  readonly outcome: CallEnd["outcome"];
  readonly code: string | null;
  readonly durationMs: number;
  readonly queuedMs: number | null;
  readonly progress: number;
  readonly replayOf?: string;
  readonly message?: string;
  readonly arguments?: unknown;
  readonly argumentsRedacted?: true;
  readonly argumentsTruncated?: true;
}

/** Shows an entry: what happened to everyone who may look, what was said only to those who may operate the gateway. */
export function showEntry(entry: Entry, secrets: Secrets, isOperator: boolean): ShownEntry {
  const { id, server, tool, source, endpoint, principal, outcome, code, progress } = entry;
  return {
    id,
    at: new Date(entry.at).toISOString(),
    server,
    tool,
    source,
    endpoint,
    principal,
    outcome,
    code,
    durationMs: round(entry.totalMs),
    queuedMs: entry.queuedMs === undefined ? null : round(entry.queuedMs),
    progress,
    ...(entry.replayOf !== undefined && { replayOf: entry.replayOf }),
    ...(isOperator && contentOf(entry, secrets)),
  };
}

function contentOf({ message, args, result }: Entry, secrets: Secrets): Partial<ShownEntry> {
  return {
    ...(message !== undefined && { message }),
    ...(args && {
      arguments: JSON.parse(args.text) as unknown,
      ...(args.redacted && { argumentsRedacted: true as const }),
      ...(args.truncated && { argumentsTruncated: true as const }),
    }),
    ...(result && showResult(result, secrets)),
  };
}

function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
