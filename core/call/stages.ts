/**
 * The stages of the pipeline, outermost first. Closed on purpose: a plugin picks a stage, it cannot add one.
 * ORDER MATTERS. Every stage sees the effect of those above it on the way in and of those below it on the way out:
 * `observe` must see denials, `gate` must run before any upstream traffic, `breaker` must count timeouts
 * but not a client's cancel.
 *
 * @example for (const stage of STAGES) gateway.use(stage, (call, next) => (mark(call.id, stage), next(call)));
 */
export const STAGES = [
  "observe",
  "gate",
  "limit",
  "validate",
  "deadline",
  "breaker",
  "dispatch",
] as const;

/**
 * A stage a middleware can join.
 *
 * @example const stage: Stage = "gate";
 */
export type Stage = (typeof STAGES)[number];
