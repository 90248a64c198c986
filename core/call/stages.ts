/**
 * The stages of the pipeline, outermost first. Closed on purpose: a plugin picks a stage, it cannot add one.
 * ORDER MATTERS. Every stage sees the effect of those above it on the way in and of those below it on the way out:
 * `observe` must see denials, `gate` must run before any upstream traffic, `breaker` must count timeouts
 * but not a client's cancel.
 */
export const STAGES = [
  "observe",
  "authorize",
  "gate",
  "limit",
  "validate",
  "deadline",
  "breaker",
  "progress",
] as const;

/** A stage a middleware can join. */
export type Stage = (typeof STAGES)[number];
