import { isGatewayError } from "propylon";
import { believedUntil } from "propylon/plugins/keys";
import { readClaims, type CheckedToken, type IssuerCheck } from "./claims.ts";
import { expiredToken, invalidToken, uselessToken } from "../refusal.ts";
import type { LocalIssuer, LocalToken } from "../service.ts";

/** Checks tokens of the gateway's own authorization server, without a request to anybody. */
export class LocalTokens implements IssuerCheck {
  readonly isSigned = true;
  readonly #issuer: LocalIssuer;

  constructor(issuer: LocalIssuer) {
    this.#issuer = issuer;
  }

  async check(token: string): Promise<CheckedToken> {
    const { payload, grant, roles, isLive } = await this.#verify(token);
    const claims = { ...readClaims(payload), grant, roles };
    return { claims, until: believedUntil(claims.expiresAt), isLive };
  }

  async warm(): Promise<void> {}

  async #verify(token: string): Promise<LocalToken> {
    try {
      return await this.#issuer.verify(token);
    } catch (error) {
      if (isGatewayError(error)) throw error;
      const { errors } = await import("jose");
      if (error instanceof errors.JWTExpired) throw expiredToken(error);
      if (error instanceof errors.JWTClaimValidationFailed) throw uselessToken(error);
      throw invalidToken(error);
    }
  }
}
