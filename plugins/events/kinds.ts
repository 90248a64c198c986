import type { Call, Mutation, ServerState, ServerStatus, ReloadReport } from "propylon";
import type { CallEnd, Outcome } from "propylon/kit";
import type { DeclaredEventKind, PluginWarning } from "propylon/internal";
import type { BreakerStatus } from "propylon/plugins/breaker";

/** What every event says besides what its kind does. */
export interface EventTime {
  /** When it happened, ISO 8601. */
  readonly at: string;
  /** Id of the replica that it happened at, where several share a store. */
  readonly replica?: string;
}

/** A server as `hello` shows it. */
export interface ServerSnapshot {
  readonly name: string;
  readonly state: ServerState;
  readonly since: string;
  /** Since when it has not been ready; absent while it is. */
  readonly downSince?: string;
  readonly tools: number;
  /** Why it is in this state; only for operators. */
  readonly reason?: string | undefined;
}

/** Data of each kind of event that is there without another plugin, besides {@link EventTime}. Members marked "operators" are left out for others. */
export interface EventData {
  /** First on every stream: where it begins, and what there is. */
  hello: {
    /** What ids begin with. Differs after every restart of the gateway, unless it shares a store with others. */
    readonly instance: string;
    /** Id of the last event that happened. */
    readonly lastId: string;
    readonly servers: readonly ServerSnapshot[];
    /** What this stream shows, those of plugins too. */
    readonly kinds: readonly string[];
  };
  /** Something is missing here. */
  gap: {
    /**
     * `expired`: too long ago; `restarted`: the id is of an earlier run; `unknown`: it is not an id of ours; `slow`: the reader did
     * not keep up, and progress or log lines were left out; `lost`: a replica could not write them to the store, or not read them.
     */
    readonly reason: "expired" | "restarted" | "unknown" | "slow" | "lost";
    /** How many events, where that is known. */
    readonly missed: number | null;
  };
  server_added: { readonly server: string };
  server_removed: { readonly server: string };
  server_changed: { readonly server: string };
  /** A server or tool was switched on or off. */
  state_changed: {
    readonly server: string;
    /** Name of the tool at its own server; null = the server itself. */
    readonly tool: string | null;
    readonly enabled: boolean;
  };
  /** A server's tools are others than before. */
  tool_list_changed: { readonly server: string; readonly tools: number };
  /** A server's connection changed; `reason` for operators. */
  upstream_state: { readonly server: string } & Pick<
    ServerStatus,
    "state" | "since" | "downSince" | "nextRetryAt" | "attempts" | "transport" | "era" | "reason"
  >;
  /** A circuit opened, half-opened or closed; `reason` for operators. */
  breaker: { readonly server: string } & BreakerStatus;
  reload_done: ReloadReport;
  reload_failed: {
    /** Code of what was wrong. */
    readonly code: string;
    readonly message: string;
    readonly hint: string | null;
    /** Where in the config file, from 1. */
    readonly line: number | null;
    readonly column: number | null;
  };
  /** Somebody used, or tried to use, a route that changes something; for operators. */
  mutation: Mutation;
  /** A tool call began, went on or ended; only for who asks. Operators see all calls, others their own. */
  progress: CallProgress;
  /** A tool call ended, or was refused; only for who asks. Operators see all calls, others their own. */
  call_end: FinishedCall;
  /** A line of the gateway's log; for operators who ask. */
  log: { readonly line: Readonly<Record<string, unknown>> };
  /** The reader is too slow; the stream ends here. Come again with the last id. */
  overflow: { readonly unsent: number };
  /** The stream ends here. */
  closing: { readonly reason: "shutdown" | "removed" };
}

/** One step of a tool call. */
export type CallProgress = {
  /** Id of the call, as in logs and history. */
  readonly call: string;
  readonly server: string;
  readonly tool: string;
} & (
  | { readonly phase: "start" }
  | {
      /** As far as the caller asked for progress. */
      readonly phase: "progress";
      readonly progress: number;
      readonly total: number | null;
      readonly message: string | null;
    }
  | { readonly phase: "end"; readonly ms: number; readonly outcome: Outcome }
);

/** A tool call that ended, as history has it, without arguments and result. */
export interface FinishedCall extends CallEnd {
  /** Id of the call, as in logs and history. */
  readonly call: string;
  readonly server: string;
  readonly tool: string;
  readonly source: Call["source"];
  readonly endpoint: string;
  /** Ref of who called. */
  readonly principal: string;
  /** How long it took, milliseconds. */
  readonly ms: number;
}

/** Name of an event that is there without another plugin. */
export type Kind = keyof EventData;

/**
 * One event as a WebSocket message; over server-sent events `id` and `event` are lines of their own. Those of plugins look the
 * same: their data is as `GET /_meta/ui` describes it.
 */
export type EventMessage = {
  [K in Kind]: {
    /** Absent on what cannot be resumed from: progress, log lines, gaps and the last event. */
    readonly id?: string;
    readonly event: K;
    readonly data: EventTime & EventData[K];
  };
}[Kind];

/** Kinds that tell of the stream itself; every stream has them. */
export type StreamKind = "hello" | "gap" | "overflow" | "closing";

/** What can be asked for with `kinds`, whatever plugins there are. */
export const KINDS = [
  "server_added",
  "server_removed",
  "server_changed",
  "state_changed",
  "tool_list_changed",
  "upstream_state",
  "breaker",
  "reload_done",
  "reload_failed",
  "mutation",
  "progress",
  "call_end",
  "log",
] as const satisfies readonly Exclude<Kind, StreamKind>[];

/** One of {@link KINDS}. */
export type TopicKind = (typeof KINDS)[number];

/** Shown to operators and administrators only. */
export const RESTRICTED: ReadonlySet<string> = new Set<Kind>(["mutation", "log"]);

/** Many and soon worthless: shown only to who asks, not kept, and left out first when a reader is slow. */
export const PASSING: ReadonlySet<string> = new Set<Kind>(["progress", "call_end", "log"]);

/** Names that no plugin can have for a kind of its own. */
export const TAKEN: ReadonlySet<string> = new Set<Kind>([
  ...KINDS,
  "hello",
  "gap",
  "overflow",
  "closing",
]);

/** What is to be said about the kinds that plugins declare. */
export function warningOf(declared: readonly DeclaredEventKind[]): PluginWarning | undefined {
  const hidden = declared.find(({ kind }) => TAKEN.has(kind));
  return (
    hidden && {
      message: `Plugin "${hidden.plugin}" declares the kind of events "${hidden.kind}", which has another meaning: nobody is told of it.`,
      path: ["plugins", "events"],
      hint: "Declare it under another name.",
    }
  );
}
