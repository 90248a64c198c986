import type { Call } from "propylon";
import { type CallEnd, parseExact } from "propylon/kit";
import { checkHead, FLAGS, readHead, type Head } from "./head.ts";
import { showResult, withoutHalf, type ShownResult } from "./result.ts";
import type { Secrets } from "./secrets.ts";

const LINE_FEED = 10;

/** The text of a record: head, arguments as JSON, and result. JSON has line feeds only between tokens; ours has none, so a result comes last. */
export function toRecord(head: string, args: string, result: string): string {
  return `${head}\n${args}\n${result}`;
}

/** The id of the call in a record that was written by somebody else; `undefined` when it is not a record. */
export function idOf(record: string): string | undefined {
  const headEnd = record.indexOf("\n");
  const argumentsEnd = record.indexOf("\n", headEnd + 1);
  if (headEnd < 0 || argumentsEnd < 0) return undefined;
  const args = record.slice(headEnd + 1, argumentsEnd);
  return args === "" || isJson(args) ? checkHead(record.slice(0, headEnd)) : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** One tool call as remembered. Arguments and result are read when somebody asks, and only until the ring goes on. */
export class Entry {
  /** Counts the calls in the order in which they ended; never used twice. */
  readonly number: number;
  readonly head: Head;
  readonly #record: Buffer;
  readonly #argumentsAt: number;

  constructor(number: number, record: Buffer) {
    const end = record.indexOf(LINE_FEED);
    this.number = number;
    this.head = readHead(record.toString("utf8", 0, end));
    this.#record = record;
    this.#argumentsAt = end + 1;
  }

  is(flag: keyof typeof FLAGS): boolean {
    return (this.head.flags & FLAGS[flag]) !== 0;
  }

  /** JSON; empty when none are kept. */
  get argumentsText(): string {
    return this.#record.toString("utf8", this.#argumentsAt, this.#resultAt - 1);
  }

  /** The JSON-RPC message that came back, or its beginning; empty when it is not kept. */
  get resultText(): string {
    const text = this.#record.toString("utf8", this.#resultAt);
    return this.is("truncatedResult") ? withoutHalf(text) : text;
  }

  get #resultAt(): number {
    return this.#record.indexOf(LINE_FEED, this.#argumentsAt) + 1;
  }
}

/** An entry as the API shows it; the second half only to operators. */
export interface ShownEntry extends ShownResult, CallEnd {
  readonly id: string;
  readonly at: string;
  readonly server: string;
  readonly tool: string;
  readonly source: Call["source"];
  readonly endpoint: string;
  readonly principal: string;
  /** Id of the replica that it came to, where several share the store. */
  readonly replica?: string;
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
  const { id, at, server, tool, source, endpoint, principal, outcome, code } = entry.head;
  const { totalMs, queuedMs, progress, replayOf, replica } = entry.head;
  return {
    id,
    at: new Date(at).toISOString(),
    server,
    tool,
    source,
    endpoint,
    principal,
    ...(replica !== undefined && { replica }),
    outcome,
    code,
    durationMs: totalMs,
    queuedMs,
    progress,
    ...(replayOf !== null && { replayOf }),
    ...(isOperator && contentOf(entry, secrets)),
  };
}

function contentOf(entry: Entry, secrets: Secrets): Partial<ShownEntry> {
  const { message, resultSize } = entry.head;
  return {
    ...(message !== null && { message }),
    ...(entry.is("keptArguments") && {
      arguments: parseExact(entry.argumentsText),
      ...(entry.is("redactedArguments") && { argumentsRedacted: true as const }),
      ...(entry.is("truncatedArguments") && { argumentsTruncated: true as const }),
    }),
    ...(entry.is("keptResult") && {
      ...showResult(entry.resultText, entry.is("truncatedResult"), secrets),
      ...(resultSize !== null && { resultSize }),
    }),
  };
}
