import type { Logger } from "pino";
import type { Actor } from "../kit/actor.ts";
import type { GatewayError } from "../kit/errors.ts";
import { type Mutation, sealMutation } from "../plugin/hooks.ts";

/** A request to a route that changes something, at its end. */
export interface Attempt {
  readonly route: { readonly method: string; readonly path: string };
  readonly actor: Actor;
  readonly params: Readonly<Record<string, string>> | undefined;
  /** What the handler says it is about. */
  readonly target: Readonly<Record<string, string>> | undefined;
  readonly status: number;
  readonly error?: GatewayError;
}

/** Where the audit goes. */
export interface AuditTrail {
  readonly log: Logger;
  /** Told of each mutation. */
  readonly onMutation: (mutation: Mutation) => void;
}

/** Writes the audit: one log line and the hook `mutation`. */
export function recordMutation({ log, onMutation }: AuditTrail, mutation: Mutation): void {
  const { at: _at, error, ...fields } = mutation;
  log.info({ ...fields, error_code: error }, "mutation");
  onMutation(mutation);
}

/** An attempt to change something, refused ones included: who, what, which, how it ended; never the body. */
export function toMutation({ route, actor, params, target, status, error }: Attempt): Mutation {
  return sealMutation({
    at: new Date().toISOString(),
    who: actor.name,
    action: `${route.method} ${route.path}`,
    target: { ...params, ...target },
    outcome: status < 400 ? "ok" : status < 500 ? "refused" : "failed",
    status,
    error: error?.code ?? null,
    request: actor.request,
  });
}
