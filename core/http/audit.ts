import type { Logger } from "pino";
import type { GatewayError } from "../errors.ts";
import type { Mutation } from "../plugin/hooks.ts";
import type { Principal } from "../call/types.ts";
import type { RegisteredRoute } from "../plugin/scope.ts";

/** Longest value that is kept of what a change is about, in characters: it is the caller's text. */
const MAX_TARGET = 200;

/** A request to a route that changes something, at its end. */
export interface Attempt {
  readonly route: RegisteredRoute;
  readonly principal: Principal | undefined;
  readonly remoteAddress: string | undefined;
  readonly params: Readonly<Record<string, string>> | undefined;
  /** What the handler says it is about. */
  readonly target: Readonly<Record<string, string>> | undefined;
  readonly status: number;
  readonly error?: GatewayError;
}

/**
 * Tells the log and the hook `mutation` of every attempt to change something, refused ones included: who, what, which, how it
 * ended; never the body.
 */
export function createAudit(
  log: Logger,
  emit: (mutation: Mutation) => void,
): (attempt: Attempt) => void {
  return (attempt) => {
    const { at, ...line } = toMutation(attempt);
    const { error, ...fields } = line;
    log.info({ ...fields, error_code: error }, "mutation");
    emit({ at, ...line });
  };
}

function toMutation({
  route,
  principal,
  remoteAddress,
  params,
  target: said,
  status,
  error,
}: Attempt): Mutation {
  const target = Object.entries({ ...params, ...said }).map(([name, value]) => [
    name,
    value.slice(0, MAX_TARGET),
  ]);
  return {
    at: new Date().toISOString(),
    who: nameOf(principal, remoteAddress),
    action: `${route.method} ${route.path}`,
    target: Object.fromEntries(target) as Mutation["target"],
    outcome: status < 400 ? "ok" : status < 500 ? "refused" : "failed",
    status,
    error: error?.code ?? null,
  };
}

/** Whoever did not say who they are is told apart by where they are. */
function nameOf(principal: Principal | undefined, remoteAddress = "unknown"): string {
  if (principal && principal.kind !== "anonymous") return principal.ref;
  return `anonymous@${remoteAddress.replace(/^::ffff:/, "")}`;
}
