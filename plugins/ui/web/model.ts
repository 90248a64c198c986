import type { Tone } from "./parts/badge.tsx";

/** A server, as `GET /_meta/servers` has it. */
export interface ServerRow {
  readonly name: string;
  readonly enabled: boolean;
  readonly connected: boolean;
  readonly state: "idle" | "connecting" | "ready" | "degraded" | "backoff" | "failed" | "closed";
  readonly reason: string | null;
  readonly since: string | null;
  readonly downSince: string | null;
  readonly nextRetryAt: string | null;
  readonly lastError: string | null;
  readonly attempts: number;
  readonly transport: string;
  readonly protocolVersion: string | null;
  readonly pid: number | null;
  /** Where it runs, if one gateway of several runs it for all. */
  readonly placement: {
    readonly host: string | null;
    readonly here: boolean;
    readonly since: string | null;
    readonly moves: number;
  } | null;
  readonly origin: "config" | "plugin";
  readonly serverInfo: { readonly name?: string; readonly version?: string } | null;
  readonly tools: { readonly total: number; readonly enabled: number };
  readonly resources: number;
  readonly prompts: number;
  readonly breaker: {
    readonly state: "closed" | "open" | "half-open";
    readonly failures: number;
    readonly reason?: string;
    readonly openedAt?: string;
    readonly retryAt?: string;
  } | null;
  readonly health: {
    readonly reachable: boolean;
    readonly reason?: string;
    readonly latency?: number;
    readonly checkedAt: string;
  } | null;
  readonly config?: unknown;
}

/** A tool, as `GET /_meta/servers/:server/tools` has it. */
export interface ToolRow {
  readonly name: string;
  readonly enabled: boolean;
  readonly available: boolean;
  readonly title: string | null;
  readonly description: string | null;
  readonly inputSchema: unknown;
  readonly outputSchema: unknown;
  readonly annotations: Readonly<Record<string, unknown>> | null;
}

/** Since when a server does not work, and how often it was tried since; an open circuit and a failed probe have times of their own. */
export function outageOf({ since, downSince, attempts, breaker }: ServerRow): {
  readonly since: string | null;
  readonly attempts: string;
} {
  const begin = downSince ?? breaker?.openedAt ?? since;
  if (downSince === null || attempts === 0) return { since: begin, attempts: "" };
  return { since: begin, attempts: attempts === 1 ? "1 attempt" : `${attempts} attempts` };
}

/** How a call ended, as the log and `GET /_meta/history` name it. */
export type CallOutcome = keyof typeof OUTCOMES;

/** What people read in place of it, everywhere. */
export const OUTCOMES = {
  ok: { tone: "ok", word: "ok" },
  refused: { tone: "degraded", word: "refused" },
  cancelled: { tone: "off", word: "cancelled" },
  transport_error: { tone: "error", word: "not reached" },
  rpc_error: { tone: "error", word: "protocol error" },
  tool_error: { tone: "error", word: "tool failed" },
} as const satisfies Readonly<Record<string, { readonly tone: Tone; readonly word: string }>>;

/** A call that ended, as `GET /_meta/history` has it. */
export interface CallRow {
  readonly id: string;
  readonly at: string;
  readonly server: string;
  readonly tool: string;
  readonly source: string;
  readonly endpoint: string;
  readonly principal: string;
  readonly outcome: CallOutcome;
  readonly code: string | number | null;
  readonly durationMs: number;
  readonly queuedMs: number | null;
  readonly progress: number;
  readonly replayOf?: string;
  readonly message?: string;
  readonly arguments?: unknown;
  readonly argumentsRedacted?: true;
  readonly argumentsTruncated?: true;
  readonly result?: unknown;
  readonly resultPreview?: string;
  readonly resultSize?: number;
}

/** A call that runs, as `GET /_meta/calls` has it. */
export interface RunningRow {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly source: string;
  readonly principal: string;
  readonly startedAt: string;
  readonly ms: number;
}

/** What a plan or a report of a reload names. */
export interface ChangeList {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** What a reload would do, or did. */
export interface ReloadAnswer {
  readonly plugins: ChangeList;
  readonly servers: ChangeList;
  readonly restartRequired: readonly string[];
  readonly applied?: boolean;
}

/** A state in a word, with its tone and the reason beside it. */
export interface Verdict {
  readonly tone: Tone;
  readonly word: string;
  readonly reason: string | undefined;
}

/** How a server is, all in all: switched off, its circuit, its connection, its last probe, in this order. */
export function verdictOf(server: ServerRow): Verdict {
  const { breaker, health, state } = server;
  const reason = server.reason ?? server.lastError ?? undefined;
  if (!server.enabled) return { tone: "off", word: "switched off", reason };
  if (breaker?.state === "open")
    return { tone: "error", word: "circuit open", reason: breaker.reason ?? reason };
  if (state === "failed" || state === "backoff")
    return { tone: "error", word: state === "failed" ? "failed" : "retrying", reason };
  if (state === "idle" || state === "connecting")
    return { tone: "busy", word: state === "idle" ? "not connected yet" : "connecting", reason };
  if (state === "closed") return { tone: "off", word: "closed", reason };
  if (breaker?.state === "half-open")
    return { tone: "degraded", word: "being tried", reason: breaker.reason ?? reason };
  if (state === "degraded") return { tone: "degraded", word: "degraded", reason };
  if (health && !health.reachable)
    return { tone: "degraded", word: "not answering", reason: health.reason };
  if (health?.reason !== undefined)
    return { tone: "degraded", word: "slow", reason: health.reason };
  return { tone: "ok", word: "ready", reason: undefined };
}

/** How a call ended. */
export function outcomeOf({ outcome, code }: Pick<CallRow, "outcome" | "code">): Verdict {
  // The code of a call that was cancelled says it once more.
  const reason = code === null || code === outcome ? undefined : String(code);
  return { ...OUTCOMES[outcome], reason };
}

/** Whether a call counts as failed; nobody has to look into one that was cancelled. */
export function isFailure({ outcome }: Pick<CallRow, "outcome">): boolean {
  return outcome !== "ok" && outcome !== "cancelled";
}

/** What went through a server lately. */
export interface Traffic {
  readonly calls: number;
  readonly failed: number;
  readonly perMinute: number;
  /** Milliseconds that 95 of 100 calls did not exceed. */
  readonly p95: number;
}

/** Minutes that {@link trafficOf} looks back. */
export const WINDOW_MINUTES = 15;

/** Counts the calls of the last minutes, by server. */
export function trafficOf(calls: readonly CallRow[], now: number): ReadonlyMap<string, Traffic> {
  const begin = now - WINDOW_MINUTES * 60_000;
  const byServer = Map.groupBy(
    calls.filter(({ at }) => Date.parse(at) >= begin),
    ({ server }) => server,
  );
  return new Map(
    [...byServer].map(([server, rows]) => {
      const times = rows.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b);
      const failed = rows.filter(isFailure).length;
      const p95 = times[Math.ceil(times.length * 0.95) - 1] ?? 0;
      return [server, { calls: rows.length, failed, perMinute: rows.length / WINDOW_MINUTES, p95 }];
    }),
  );
}

/** Whether a text has all the words of a search, whatever their case. */
export function matches(search: string, ...texts: readonly (string | null | undefined)[]): boolean {
  const text = texts.join(" ").toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
