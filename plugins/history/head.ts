import { type Call, type ErrorCode, GatewayError } from "propylon";
import { type CallEnd, type CallOutcome, endOf, FIRST_PROBLEM } from "propylon/kit";
import { z } from "zod";

/** What is written down of a call besides its arguments and its result. */
export interface Head extends CallEnd {
  /** Id of the call. */
  readonly id: string;
  /** When it arrived, in milliseconds since the epoch. */
  readonly at: number;
  readonly server: string;
  readonly tool: string;
  readonly source: Call["source"];
  readonly endpoint: string;
  /** Its `ref`. */
  readonly principal: string;
  /** Words of the failure. */
  readonly message: string | null;
  /** With three decimals, as the next one. */
  readonly totalMs: number;
  /** Until it was sent to its server; `null` when it never was. */
  readonly queuedMs: number | null;
  /** Progress reports that were passed on. */
  readonly progress: number;
  /** Id of the call that this one repeats. */
  readonly replayOf: string | null;
  /** What became of arguments and result: some of {@link FLAGS}, added up. */
  readonly flags: number;
  /** Size of the answer in bytes, where it is known without encoding it. */
  readonly resultSize: number | null;
  /** The replica that it came to, where several share the store. */
  readonly replica?: string | undefined;
}

/** What {@link Head.flags} is made of. */
export const FLAGS = {
  /** It had arguments, kept or not. */
  hasArguments: 1,
  keptArguments: 2,
  redactedArguments: 4,
  truncatedArguments: 8,
  keptResult: 16,
  truncatedResult: 32,
} as const;

/** The members of a line in their order, as {@link writeHead} has them; the id is first, so that a line is found by it. */
const MEMBERS = [
  "id",
  "at",
  "server",
  "tool",
  "source",
  "endpoint",
  "principal",
  "outcome",
  "code",
  "message",
  "totalMs",
  "queuedMs",
  "progress",
  "replayOf",
  "flags",
  "resultSize",
  "replica",
] as const satisfies readonly (keyof Head)[];

/** A head as one line; without names, which would be most of it. Spelled out, since every call has one. */
export function writeHead(head: Head): string {
  const line: Head[keyof Head][] = [
    head.id,
    head.at,
    head.server,
    head.tool,
    head.source,
    head.endpoint,
    head.principal,
    head.outcome,
    head.code,
    head.message,
    head.totalMs,
    head.queuedMs,
    head.progress,
    head.replayOf,
    head.flags,
    head.resultSize,
  ];
  // A gateway that shares no store has none.
  if (head.replica !== undefined) line.push(head.replica);
  return JSON.stringify(line);
}

/** Reads what {@link writeHead} wrote. */
export function readHead(line: string): Head {
  const values = JSON.parse(line) as unknown[];
  const head = Object.fromEntries(MEMBERS.map((name, at) => [name, values[at]])) as unknown as Head;
  const outcome = nowOf(head);
  return outcome === head.outcome ? head : { ...head, outcome };
}

/** Outcomes that earlier versions wrote, and replicas of an earlier version still write during an upgrade. */
export const EARLIER_OUTCOMES = ["transport_error", "rpc_error"] as const;

const IS_RPC_CODE = /^-?\d/;

/** Whether an entry would have had this outcome in earlier versions. Scripts that were written for those still ask for it. */
export function wasOnce(
  { outcome, code }: CallEnd,
  earlier: (typeof EARLIER_OUTCOMES)[number],
): boolean {
  if (outcome === "unreachable" || outcome === "timed_out") return earlier === "transport_error";
  if (outcome !== "tool_error" || code === null) return false;
  return earlier === (IS_RPC_CODE.test(code) ? "rpc_error" : "transport_error");
}

/** The outcome in today's word. */
function nowOf({ outcome, code }: CallEnd): CallOutcome {
  const written: string = outcome;
  if (written === "rpc_error") return "tool_error";
  if (written !== "transport_error") return outcome;
  return endOf(new GatewayError(code as ErrorCode, "")).outcome;
}

const text = z.string();
const time = z.number();

/** A line as {@link writeHead} writes it, member by member. */
const lineSchema = z.tuple([
  text,
  time,
  text,
  text,
  text,
  text,
  text,
  text,
  text.nullable(),
  text.nullable(),
  time,
  time.nullable(),
  time,
  text.nullable(),
  time,
  time.nullable(),
  text.optional(),
]);

/** The id in a line that was written by somebody else; `undefined` when it is not such a line. */
export function checkHead(line: string): string | undefined {
  try {
    return lineSchema.parse(JSON.parse(line), FIRST_PROBLEM)[0];
  } catch {
    return undefined;
  }
}

/** How the line of a call begins. */
export function beginningOf(id: string): Buffer {
  return Buffer.from(`[${JSON.stringify(id)},`);
}
