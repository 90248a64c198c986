import type { LogFacts } from "propylon/internal";

/** Error codes of RFC 6749, 7009, 7591, 8707 that are told. */
export type OauthErrorCode =
  | "access_denied"
  | "invalid_client"
  | "invalid_client_metadata"
  | "invalid_grant"
  | "invalid_redirect_uri"
  | "invalid_request"
  | "invalid_target"
  | "server_error"
  | "temporarily_unavailable"
  | "unsupported_grant_type"
  | "unsupported_response_type";

/** What else an error says. */
interface OauthErrorDetails {
  /** HTTP status; default 400. */
  readonly status?: number;
  /** Seconds to wait. */
  readonly retryAfter?: number;
  readonly cause?: unknown;
  /** For the log: what was expected and what came. */
  readonly facts?: LogFacts;
}

/** An error that a client of the authorization server, or a person, is told. */
export class OauthError extends Error {
  readonly code: OauthErrorCode;
  readonly status: number;
  readonly retryAfter: number | undefined;
  /** For the log. */
  readonly facts: LogFacts;

  /** @param description a sentence, without quotes and backslashes (RFC 6749 section 5.2) */
  constructor(code: OauthErrorCode, description: string, details: OauthErrorDetails = {}) {
    super(description, { cause: details.cause });
    this.code = code;
    this.status = details.status ?? 400;
    this.retryAfter = details.retryAfter;
    this.facts = details.facts ?? {};
  }
}

/** Somebody asks too often. */
export function tooOften(wait: number): OauthError {
  const seconds = Math.max(1, Math.ceil(wait / 1_000));
  return new OauthError(
    "temporarily_unavailable",
    `This was asked for too often. Try again in ${seconds} s.`,
    { status: 429, retryAfter: seconds },
  );
}
