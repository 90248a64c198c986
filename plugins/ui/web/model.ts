import type { ReloadReport } from "propylon";
import type { ReloadPlan } from "propylon/kit";
import type { ServerView } from "propylon/plugins/admin";
import type { ShownEntry } from "propylon/plugins/history";
import type { Tone } from "./parts/badge.tsx";

export type {
  RunningCallView as RunningRow,
  ServerView as ServerRow,
  ToolView as ToolRow,
} from "propylon/plugins/admin";

/** Since when a server is as it is, how often it was tried since, and when it is tried next. */
export interface OutageFacts {
  readonly since: string | null;
  readonly attempts: number;
  /** `now`: it is being tried. */
  readonly next: string | undefined;
}

/** The outage of a server; an open circuit and a failed probe have times of their own. */
export function outageOf(server: ServerView): OutageFacts {
  const { state, since, downSince, breaker } = server;
  const attempts = downSince === null ? 0 : server.attempts;
  const isTried = state === "connecting" && attempts > 0;
  const next = isTried ? "now" : (server.nextRetryAt ?? breaker?.retryAt);
  return { since: downSince ?? breaker?.openedAt ?? since, attempts, next };
}

/** A call that ended. */
export type CallRow = ShownEntry;

/** What people read in place of how a call ended, everywhere. */
export const OUTCOMES = {
  ok: { tone: "ok", word: "ok" },
  refused: { tone: "degraded", word: "refused" },
  cancelled: { tone: "off", word: "cancelled" },
  tool_error: { tone: "error", word: "tool error" },
  timed_out: { tone: "error", word: "timed out" },
  unreachable: { tone: "error", word: "unreachable" },
} as const satisfies Readonly<
  Record<CallRow["outcome"], { readonly tone: Tone; readonly word: string }>
>;

/** What a reload would do, or did. */
export type ReloadAnswer = ReloadPlan & Partial<Pick<ReloadReport, "applied">>;

/** A state in a word, with its tone and the reason beside it. */
export interface Verdict {
  readonly tone: Tone;
  readonly word: string;
  readonly reason: string | undefined;
}

/** How a server is, all in all: switched off, its circuit, its connection, its last probe, in this order. */
export function verdictOf(server: ServerView): Verdict {
  const { breaker, health, state } = server;
  const reason = server.reason ?? server.lastError ?? undefined;
  if (!server.enabled) return { tone: "off", word: "switched off", reason };
  if (breaker?.state === "open")
    // What keeps its connection away says more than that calls failed.
    return {
      tone: "error",
      word: "circuit open",
      reason: server.downSince === null ? (breaker.reason ?? reason) : (reason ?? breaker.reason),
    };
  if (state === "failed" || state === "backoff")
    return { tone: "error", word: state === "failed" ? "failed" : "retrying", reason };
  // It would be gone from the list of what fails whenever it is tried.
  if (state === "connecting" && server.attempts > 0)
    return { tone: "error", word: "retrying", reason };
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
  const reason = code === null || code === outcome ? undefined : code;
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
