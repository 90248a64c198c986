import { randomUUID } from "node:crypto";
import type { Role } from "propylon";
import { CLOCK_TOLERANCE_S } from "propylon/plugins/keys";
import type { LocalIssuer } from "propylon/plugins/oauth-resource";
import type { KnownGrant } from "./grants.ts";
import type { KeyRing } from "./key-ring.ts";
import type { Targets } from "./targets.ts";

/** What access tokens are made of. */
export interface AccessTokenParts {
  readonly ring: KeyRing;
  /** `iss`. */
  readonly issuer: () => string;
  readonly targets: Targets;
  /** In milliseconds. */
  readonly life: number;
  /** Whether a login goes on. */
  readonly isLive: (grant: string) => boolean;
}

/** An access token that was made. */
export interface MadeToken {
  readonly text: string;
  /** In seconds. */
  readonly expiresIn: number;
}

/** Signs access tokens (RFC 9068), and reads them again. */
export class SignedAccess {
  readonly #parts: AccessTokenParts;

  constructor(parts: AccessTokenParts) {
    this.#parts = parts;
  }

  async sign(
    grant: KnownGrant,
    scopes: readonly string[],
    roles: ReadonlySet<Role>,
  ): Promise<MadeToken> {
    const { SignJWT } = await import("jose");
    const { ring, issuer, life, targets } = this.#parts;
    const [audience = grant.resource, ...others] = targets.audiencesOf(grant.resource);
    const { kid, alg, secret } = ring.signer;
    const now = Math.floor(Date.now() / 1_000);
    const end = Math.min(now + Math.floor(life / 1_000), Math.floor(grant.until / 1_000));
    const claims = {
      client_id: grant.client,
      grant: grant.id,
      roles: [...roles],
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
    };
    const text = await new SignJWT(claims)
      .setProtectedHeader({ alg, typ: "at+jwt", kid })
      .setIssuer(issuer())
      .setSubject(grant.person.subject)
      .setAudience(others.length === 0 ? audience : [audience, ...others])
      .setIssuedAt(now)
      .setExpirationTime(end)
      .setJti(randomUUID())
      .sign(secret);
    return { text, expiresIn: end - now };
  }

  /** Joins {@link LocalIssuer}. @throws an error of jose for a token that is not this gateway's */
  readonly verify: LocalIssuer["verify"] = async (token) => {
    const { jwtVerify, errors } = await import("jose");
    const { ring, issuer, isLive } = this.#parts;
    const { payload, protectedHeader } = await jwtVerify(
      token,
      ({ kid, alg }) => {
        const key = ring.keys.find((each) => each.kid === kid && each.alg === alg);
        if (key) return key.publicKey;
        throw new errors.JWKSNoMatchingKey();
      },
      {
        algorithms: ["EdDSA", "ES256"],
        issuer: issuer(),
        // No other token that is signed with the key can pass for one (RFC 9068 section 4).
        typ: "at+jwt",
        requiredClaims: ["exp", "sub", "aud", "grant"],
        clockTolerance: CLOCK_TOLERANCE_S,
      },
    );
    const grant = String(payload["grant"]);
    return {
      payload,
      grant,
      roles: new Set(payload["roles"] as readonly Role[]),
      isLive: () => isLive(grant) && ring.has(protectedHeader.kid!),
    };
  };
}
