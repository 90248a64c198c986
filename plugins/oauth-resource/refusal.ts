import { GatewayError } from "propylon";
import { asProven } from "propylon/kit";
import type { LogFacts } from "propylon/internal";

/** Why a token was refused; a label of a metric, so the list is closed. */
export type AccessTokenFault =
  | "audience"
  | "expired"
  | "inactive"
  | "invalid"
  | "issuer"
  | "scope"
  | "unchecked";

/** A refusal whose reason is counted. */
export class TokenRefusal extends GatewayError {
  readonly reason: AccessTokenFault;
  /** For the log: what was expected and what came. */
  readonly facts: LogFacts;

  /** @param facts of what is known to be true alone: a stranger's words are nothing for the log */
  constructor(
    reason: AccessTokenFault,
    message: string,
    { facts = {}, ...details }: { cause?: unknown; facts?: LogFacts } = {},
  ) {
    super("unauthorized", message, {
      hint: "Log in again, or ask for a token for this URL.",
      ...details,
    });
    this.reason = reason;
    this.facts = details.cause instanceof Error ? { why: details.cause.message, ...facts } : facts;
  }
}

/** `invalid` on purpose: which check failed is nothing that a forger should learn. */
export function invalidToken(cause?: unknown): TokenRefusal {
  return new TokenRefusal("invalid", "The token is not valid.", { cause });
}

/** A client that reads this refreshes its token. */
export function expiredToken(cause?: unknown): TokenRefusal {
  return asProven(new TokenRefusal("expired", "The token has expired.", { cause }));
}

/** A token of the issuer that its claims make good for nothing here. */
export function uselessToken(cause?: unknown): TokenRefusal {
  return asProven(invalidToken(cause));
}

/** What an issuer did that it should not, as the end of a sentence: told to the operator, and to nobody who brings a token. */
export function issuerFault(why: string, cause?: unknown): GatewayError {
  return new GatewayError("upstream_error", `The issuer cannot be used: ${why}.`, { cause });
}

/** An issuer that does not answer is not the fault of the token: 502, and no client throws a good token away. */
export function uncheckedToken(issuer: string, cause: unknown): GatewayError {
  return new GatewayError("upstream_error", "The token cannot be checked at the moment.", {
    cause,
    hint: `The issuer "${issuer}" does not answer as it should; try again.`,
  });
}
