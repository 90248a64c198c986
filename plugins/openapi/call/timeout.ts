import { GatewayError, type Call, type GatewayInfo } from "propylon";
import { parseDuration } from "propylon/kit";
import type { GatingService } from "propylon/plugins/gating";

/** The parts of a call that decide how long it may run. */
export type TimedCall = Pick<Call, "method" | "server" | "name" | "timeout" | "meta">;

/**
 * The timeout a request asks for, in milliseconds: `X-Tool-Timeout`, else `?timeout=`. A bare number is
 * seconds; fractions and `1500ms`, `30s`, `2m` are understood. `NaN` for what cannot be read.
 */
export function requestedTimeout(header: string | null, search: string): number | undefined {
  if (header !== null) return toMs(header);
  // As a rule a request has no query at all.
  if (search.length < 2) return undefined;
  const values = new URLSearchParams(search).getAll("timeout");
  return values.length === 0 ? undefined : toMs(values.join(","));
}

function toMs(text: string): number {
  const ms = parseDuration(text, "s") ?? Number.NaN;
  // A timer counts whole milliseconds.
  return ms > 0 ? Math.max(1, Math.round(ms)) : ms;
}

/**
 * Decides about the timeout that a request asks for.
 *
 * @returns seconds for `X-Tool-Timeout-Effective`, where the gateway allows less than was asked for
 * @throws {GatewayError} `invalid` for anything but a time above zero; with gating also for more than it allows, where it rejects,
 * and `invalid_timeout` in place of both where it is compatible with mcpo
 */
export function effectiveTimeout(
  gating: GatingService | undefined,
  call: TimedCall,
): string | undefined {
  const { timeout } = call;
  if (timeout === undefined) return undefined;
  if (gating) {
    const { total, clamped } = gating.deadlineOf(call);
    return clamped ? String(total / 1_000) : undefined;
  }
  if (timeout > 0 && Number.isFinite(timeout)) return undefined;
  throw new GatewayError("invalid", "The timeout must be a number of seconds above zero.", {
    data: { path: "timeout" },
    hint: "Send seconds such as 30 or 2.5, or a duration such as 1500ms or 2m, as X-Tool-Timeout or ?timeout.",
  });
}

/** How long a call may take in all, in milliseconds: what it asks for, else what is set for its tool, server or gateway. */
export function limitOf(
  gating: GatingService | undefined,
  timeouts: GatewayInfo["timeouts"],
  call: TimedCall,
): number {
  if (gating) return gating.deadlineOf(call).total;
  const { tool, server, default: gateway } = timeouts(call);
  const requested = call.timeout ?? Number.NaN;
  return requested > 0 && Number.isFinite(requested) ? requested : (tool ?? server ?? gateway);
}
