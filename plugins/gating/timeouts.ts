import { GatewayError, type Call, type GatewayInfo } from "propylon";
import { parseDuration } from "propylon/kit";
import type { Timeouts } from "propylon/internal";
import type { GatingOptions } from "./options.ts";
import type { EffectiveDeadline } from "./service.ts";

/** The parts of a call that decide how long it may run. */
export type Timed = Pick<Call, "method" | "server" | "name" | "timeout" | "meta">;

/** Member of a request's `_meta` with the timeout its caller asks for: seconds, or a duration such as `1500ms`. */
export const META_TIMEOUT = "propylon/timeout";

/**
 * What a requested timeout becomes: itself within the maximum, else the maximum. Both in milliseconds and above zero.
 */
export function clamp(requested: number, max: number): number {
  return Math.min(requested, max);
}

/**
 * The rule of how long a call may run: what its caller asked for, else what is set for its tool, its server, the gateway;
 * never more than the maximum.
 *
 * @param allowance what the config outside of this plugin says
 */
export function createRule(
  { timeouts, mcpoCompat }: Pick<GatingOptions, "timeouts" | "mcpoCompat">,
  allowance: GatewayInfo["timeouts"],
): (call: Timed) => EffectiveDeadline {
  const { max, overMax, idle } = timeouts;
  const servers = new Map(Object.entries(timeouts.servers));
  const tools = new Map(Object.entries(timeouts.tools));
  const bounds = idle === undefined ? undefined : { idle };
  const refuse = (message: string): GatewayError =>
    new GatewayError(mcpoCompat ? "invalid_timeout" : "invalid", message, {
      data: { max: max / 1_000 },
      hint: `Ask for more than 0 and at most ${max / 1_000} seconds.`,
    });
  const usual = (call: Timed): number => {
    const { tool, server, default: gateway }: Timeouts = allowance(call);
    return (
      (tools.size > 0 && call.method === "tools/call"
        ? tools.get(`${call.server}/${call.name}`)
        : undefined) ??
      tool ??
      servers.get(call.server) ??
      server ??
      timeouts.default ??
      gateway
    );
  };
  return (call) => {
    const requested = requestedOf(call);
    if (requested === undefined)
      return { total: clamp(usual(call), max), clamped: false, ...bounds };
    if (!(requested > 0 && requested < Number.POSITIVE_INFINITY))
      throw refuse("The timeout must be a number of seconds above zero.");
    if (requested > max && overMax === "reject")
      throw refuse(`The timeout is more than the longest allowed, ${max / 1_000} seconds.`);
    return { total: clamp(requested, max), clamped: requested > max, ...bounds };
  };
}

/** Milliseconds that the caller asks for; `NaN` for what cannot be read. */
function requestedOf({ timeout, meta }: Timed): number | undefined {
  if (timeout !== undefined) return timeout;
  const requested = meta?.[META_TIMEOUT];
  if (requested === undefined) return undefined;
  if (typeof requested !== "number" && typeof requested !== "string") return Number.NaN;
  return parseDuration(requested, "s") ?? Number.NaN;
}
