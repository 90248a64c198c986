import { isObject } from "propylon/kit";
import type { LogFacts } from "propylon/internal";
import type { OauthError } from "./oauth-error.ts";

/** Claims whose values are secrets of one login. */
const SECRET: ReadonlySet<unknown> = new Set(["nonce", "at_hash", "c_hash", "s_hash"]);

/** What the log says of a refusal: what the program is told, and what is behind it. No token, code or secret is part of it. */
export function refusalFacts({ code, message, cause, facts }: OauthError): LogFacts {
  return { code, told: message, ...whyOf(cause), ...facts };
}

/** How a provider tells an error (RFC 6749 section 5.2). */
interface ToldError {
  readonly error?: unknown;
  readonly error_description?: unknown;
}

/** The same in the header of a 401, where a client that the provider does not believe is told it. */
function challengeOf({ cause }: Error): ToldError | undefined {
  const first: unknown = Array.isArray(cause) ? cause[0] : undefined;
  return isObject(first) && isObject(first["parameters"]) ? first["parameters"] : undefined;
}

/** The words of the library that checks the provider's answers, the claim that it stopped at, and the error that the provider tells. */
function whyOf(cause: unknown): LogFacts {
  if (!(cause instanceof Error)) return {};
  const { error, error_description: said } = challengeOf(cause) ?? (cause as ToldError);
  return {
    why: cause.message,
    ...(typeof error === "string" && { error, said }),
    ...claimOf(cause.cause),
    ...(cause.cause instanceof Error && whyOf(cause.cause)),
  };
}

function claimOf(detail: unknown): LogFacts {
  if (!isObject(detail) || !isObject(detail["claims"])) return {};
  const { claim, claims, expected } = detail;
  if (typeof claim !== "string" || SECRET.has(claim)) return { claim };
  return { claim, expected, got: (claims as Record<string, unknown>)[claim] };
}
