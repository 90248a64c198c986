import type { JWTPayload } from "jose";
import { FetchFailure } from "propylon/internal";
import {
  believedUntil,
  CLOCK_TOLERANCE_S,
  isOfKind,
  type KeySet,
  PUBLIC_KEY_ALGORITHMS,
} from "propylon/plugins/keys";
import { readClaims, type CheckedToken, type IssuerCheck } from "./claims.ts";
import { expiredToken, invalidToken, uncheckedToken, uselessToken } from "../refusal.ts";

/** Checks signed tokens (RFC 9068) with the keys of their issuer. */
export class SignedTokens implements IssuerCheck {
  readonly isSigned = true;
  readonly #issuer: string;
  readonly #name: string;
  readonly #keys: KeySet;

  /** @param name what the config calls the issuer */
  constructor(name: string, issuer: string, keys: KeySet) {
    this.#name = name;
    this.#issuer = issuer;
    this.#keys = keys;
  }

  async check(token: string): Promise<CheckedToken> {
    // From before the check: keys that change meanwhile may not be those that it was checked with.
    const isCurrent = this.#keys.mark();
    const claims = readClaims(await this.#verify(token));
    const until = believedUntil(Math.min(claims.expiresAt, this.#keys.usableUntil));
    return { claims, until, isCurrent };
  }

  warm(): Promise<void> {
    return this.#keys.warm();
  }

  async #verify(token: string): Promise<JWTPayload> {
    const jose = await import("jose");
    try {
      const { payload, protectedHeader } = await jose.jwtVerify(
        token,
        (header, input) => this.#keys.find(header, input),
        {
          algorithms: [...PUBLIC_KEY_ALGORITHMS],
          issuer: this.#issuer,
          requiredClaims: ["exp", "sub"],
          clockTolerance: CLOCK_TOLERANCE_S,
        },
      );
      if (!isOfKind(protectedHeader.typ, "at+jwt")) throw invalidToken();
      return payload;
    } catch (error) {
      if (error instanceof FetchFailure) throw uncheckedToken(this.#name, error);
      if (error instanceof jose.errors.JWTExpired) throw expiredToken(error);
      if (error instanceof jose.errors.JWTClaimValidationFailed) throw uselessToken(error);
      throw invalidToken(error);
    }
  }
}
