import type { Kv } from "propylon/store";
import {
  CLOCK_TOLERANCE_S,
  isOfKind,
  type KeySet,
  PUBLIC_KEY_ALGORITHMS,
} from "propylon/plugins/keys";
import { createHash } from "node:crypto";
import type { JWTVerifyGetKey } from "jose";
import { OauthError } from "../oauth-error.ts";

/** RFC 7523 section 2.2. */
export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/** Longest life of one; clients make them for a minute or five. */
const MAX_LIFE_S = 600;
/** How long one that was used is remembered, in milliseconds. */
export const ASSERTION_MS = (MAX_LIFE_S + 2 * CLOCK_TOLERANCE_S) * 1_000;

/** What assertions are checked with. */
export interface AssertionParts {
  readonly issuer: () => string;
  /** Those that were used, by program and `jti`. */
  readonly used: Kv<true>;
}

/** Programs that prove themselves with a key (RFC 7523): signed for this server, for minutes, and for one use. */
export class ClientAssertions {
  readonly #parts: AssertionParts;

  constructor(parts: AssertionParts) {
    this.#parts = parts;
  }

  /** @throws {OauthError} `invalid_client` */
  async check(id: string, assertion: string, keys: KeySet): Promise<void> {
    const { jti, exp } = await this.#verify(id, assertion, keys);
    const left = Number(exp) - Date.now() / 1_000;
    if (left > MAX_LIFE_S + CLOCK_TOLERANCE_S) throw refused("it counts for more than 10 minutes");
    const key = createHash("sha256")
      .update(JSON.stringify([id, jti]))
      .digest("base64url");
    // Somebody who saw one must not be able to use it too (RFC 7523 section 3).
    const isFirst = (await this.#parts.used.create(key, true)) !== undefined;
    if (!isFirst) throw refused("it was used before");
  }

  async #verify(
    id: string,
    assertion: string,
    keys: KeySet,
  ): Promise<{ readonly jti?: string; readonly exp?: number }> {
    const { jwtVerify } = await import("jose");
    const issuer = this.#parts.issuer();
    try {
      const find: JWTVerifyGetKey = (header, token) => keys.find(header, token);
      const { payload, protectedHeader } = await jwtVerify(assertion, find, {
        algorithms: [...PUBLIC_KEY_ALGORITHMS],
        issuer: id,
        subject: id,
        audience: [issuer, `${issuer}/oauth/token`],
        requiredClaims: ["exp", "jti"],
        clockTolerance: CLOCK_TOLERANCE_S,
      });
      if (!isOfKind(protectedHeader.typ, "client-authentication+jwt"))
        throw refused("it is of another kind");
      // One that another server may take as well could be that server's (RFC 7523, security considerations on aud).
      if (Array.isArray(payload.aud) && payload.aud.length > 1)
        throw refused("it is for several servers");
      return payload;
    } catch (error) {
      throw error instanceof OauthError
        ? error
        : refused("it is not signed as it should be", error);
    }
  }
}

function refused(why: string, cause?: unknown): OauthError {
  return new OauthError("invalid_client", `The client_assertion does not count: ${why}.`, {
    status: 401,
    cause,
  });
}
