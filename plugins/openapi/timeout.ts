import { GatewayError, parseDuration, type Call } from "propylon";
import type { GatingService } from "propylon/plugins/gating";

/**
 * The timeout a request asks for, in milliseconds: `X-Tool-Timeout`, else `?timeout=` (M035, M036, C05). A bare number is
 * seconds; fractions and `1500ms`, `30s`, `2m`, `1h` are understood.
 *
 * @throws {GatewayError} `invalid` for anything else, and for zero
 */
export function requestedTimeout(header: string | null, search: string): number | undefined {
  if (header !== null) return toMs(header, "X-Tool-Timeout");
  // Most requests have no query at all.
  if (search.length < 2) return undefined;
  const values = new URLSearchParams(search).getAll("timeout");
  if (values.length === 0) return undefined;
  return toMs(values.join(","), "?timeout");
}

function toMs(text: string, from: string): number {
  const ms = parseDuration(text, "s") ?? 0;
  // A timer counts whole milliseconds.
  if (ms > 0 && Number.isFinite(ms)) return Math.max(1, Math.round(ms));
  throw new GatewayError("invalid", `${from} must be a number of seconds above zero.`, {
    data: { path: from },
    hint: "Send seconds such as 30 or 2.5, or a duration such as 1500ms or 2m.",
  });
}

/**
 * What the client is told about its timeout: `X-Tool-Timeout-Effective` in seconds where the gateway allows less (C05).
 *
 * @throws {GatewayError} `invalid_timeout` where the gateway rejects instead
 */
export function effectiveTimeout(
  gating: GatingService | undefined,
  call: Pick<Call, "method" | "server" | "name" | "timeout" | "meta">,
): string | undefined {
  if (!gating || call.timeout === undefined) return undefined;
  const { total, clamped } = gating.deadlineOf(call);
  return clamped ? String(total / 1_000) : undefined;
}
