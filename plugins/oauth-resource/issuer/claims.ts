import type { JWTPayload } from "jose";
import type { Role } from "propylon";
import { CLOCK_TOLERANCE_S } from "propylon/plugins/keys";
import { uselessToken } from "../refusal.ts";

/** OpenID Connect Core section 2: at most 255 characters; no control character, as it stands in logs. */
const SUBJECT = /^\P{Cc}{1,255}$/u;
/** Of a stranger's list no more is looked at. */
const MAX_VALUES = 100;
/** The last moment that a Date can hold. */
const END_OF_TIME = 8.64e15;

/** What a token says, once it is known to be the issuer's. */
export interface TokenClaims {
  readonly subject: string;
  readonly audiences: readonly string[];
  readonly scopes: readonly string[];
  readonly client: string | undefined;
  /** Id of the login, of tokens that this gateway made itself. */
  readonly grant?: string;
  /** What its person may where scopes do not say it, of tokens that this gateway made itself. */
  readonly roles?: ReadonlySet<Role>;
  /** In milliseconds since 1970, with the tolerance. */
  readonly expiresAt: number;
}

/** A token that is its issuer's, and how long that may be believed without a further look. */
export interface CheckedToken {
  readonly claims: TokenClaims;
  /** In milliseconds since 1970. */
  readonly until: number;
  /** Whether it was not withdrawn since; default: nobody could tell. */
  readonly isLive?: () => boolean;
  /** Whether what it was decided by is as it was; default: that does not change. */
  readonly isCurrent?: () => boolean;
}

/** Finds out whether a token is an issuer's. */
export interface IssuerCheck {
  /** Whether its tokens are proven by their signature, and not by a question about them. */
  readonly isSigned: boolean;
  /** @throws {GatewayError} `unauthorized` for one that is not, `upstream_error` where that cannot be found out */
  check(token: string): Promise<CheckedToken>;
  /** Asks for what the first token will need. Never rejects. */
  warm(): Promise<void>;
}

/**
 * Reads the claims of a signed token (RFC 9068) or an introspection answer (RFC 7662).
 *
 * @throws {GatewayError} `unauthorized` without a subject or an end
 */
export function readClaims(payload: JWTPayload): TokenClaims {
  const { sub, exp } = payload;
  if (typeof sub !== "string" || !SUBJECT.test(sub) || typeof exp !== "number")
    throw uselessToken();
  const client = payload["client_id"] ?? payload["azp"];
  return {
    subject: sub,
    audiences: textsOf(payload.aud),
    // Some issuers say scp, as a text or a list.
    scopes: textsOf(payload["scope"] ?? payload["scp"]).flatMap((text) => text.split(" ")),
    client: typeof client === "string" ? client : undefined,
    expiresAt: Math.min((exp + CLOCK_TOLERANCE_S) * 1_000, END_OF_TIME),
  };
}

function textsOf(value: unknown): readonly string[] {
  const texts = [value].flat().slice(0, MAX_VALUES);
  return texts.filter((text) => typeof text === "string");
}
