import type { Call } from "./call.ts";

/**
 * How long a call may run, in milliseconds.
 *
 * @example
 * const rule = (call: Call): Deadline => ({ total: call.timeout ?? 30_000, idle: 5_000 });
 * gateway.use("deadline", { limit: rule });
 */
export interface Deadline {
  /** From its start to its end. */
  readonly total: number;
  /** Without any progress report; default: no bound. */
  readonly idle?: number;
}

/**
 * Decides how long calls may run; see `PluginContext.use`.
 *
 * @example
 * const rule: DeadlineRule = { limit: (call) => ({ total: call.timeout ?? 30_000 }) };
 * gateway.use("deadline", rule);
 */
export interface DeadlineRule {
  limit(call: Call): Deadline;
}

/**
 * How long a call may run as far as its tool, its server and the gateway say, in milliseconds; the first that is set counts.
 *
 * @example const { tool, server, default: fallback }: Timeouts = gateway.control.timeouts(call);
 */
export interface Timeouts {
  /** `timeout` of a plugin's own tool. */
  readonly tool?: number;
  /** `servers.<name>.timeout`. */
  readonly server?: number;
  /** `timeouts.default`. */
  readonly default: number;
}
