import { createPublicKey, type KeyObject } from "node:crypto";
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from "jose";
import { GatewayError, type Principal, type Role } from "propylon";
import { createPrincipal, asProven, digestOf, Recent, ROLES } from "propylon/kit";
import { JWT, ProviderHttp, readUnprovenClaims } from "propylon/internal";
import { claimAt } from "./claim-at.ts";
import { KeySet } from "./key-set.ts";
import type { KeysOptions } from "./options.ts";
import { qualifiedId } from "./people.ts";
import { TokenMemory } from "./token-memory.ts";
import {
  believedUntil,
  BY_KEY_TYPE,
  CLOCK_TOLERANCE_S,
  isOfKind,
  PUBLIC_KEY_ALGORITHMS,
} from "./token-rules.ts";

type JwtConfig = NonNullable<KeysOptions["jwt"]>;

/** Who a token is about; `undefined` for one of another issuer. At once for one that was seen before. */
export interface JwtVerifier {
  (token: string, digest?: string): Principal | undefined | Promise<Principal>;
  /** Whether a token may be of the issuer, by what it says itself. */
  mayBeOurs(token: string): boolean;
}

const SYMMETRIC = ["HS256"];
const JWKS_TIMEOUT_MS = 5_000;
/** Tokens that are remembered to be of another issuer; of others it is read again. */
const MAX_FOREIGN = 10_000;

/** How tokens are checked. */
interface Check {
  readonly algorithms: readonly string[];
  readonly key: KeyObject | Uint8Array | JWTVerifyGetKey;
  /** Until when what the key signed may be believed, in milliseconds since 1970; absent: as long as the config has it. */
  readonly usableUntil?: () => number;
  /** Tells later whether the key is still the one of now. */
  readonly mark?: () => () => boolean;
}

/**
 * Makes the check of signed tokens (RFC 7519): `exp` and `sub` are required, `iss` and `aud` where configured; the principal's
 * id is `sub`, its roles those of the role claim that exist.
 *
 * @param isQualified whether the id is `jwt:<sub>`, because others name people, too
 * @throws {GatewayError} `invalid` unless exactly one of `secret`, `publicKey` and `jwks` is set, and for an invalid key
 */
export function createJwtVerifier(config: JwtConfig, isQualified = false): JwtVerifier {
  const { algorithms, key, usableUntil = () => Infinity, mark } = pickCheck(config);
  const { issuer, audience } = config;
  const options: JWTVerifyOptions = {
    algorithms: [...algorithms],
    requiredClaims: ["exp", "sub"],
    clockTolerance: CLOCK_TOLERANCE_S,
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  };
  const memory = new TokenMemory<Principal>();
  const verify = async (token: string, digest: string): Promise<Principal> => {
    const jose = await import("jose");
    const isCurrent = mark?.();
    try {
      // One overload takes a key, the other a function that finds it.
      const { payload, protectedHeader } =
        typeof key === "function"
          ? await jose.jwtVerify(token, key, options)
          : await jose.jwtVerify(token, key, options);
      if (!isOfKind(protectedHeader.typ, "at+jwt")) throw refused("The token is not valid.");
      const principal = toPrincipal(payload, config.roleClaim, isQualified);
      const until = believedUntil(Math.min(principal.expiresAt!, usableUntil()));
      memory.keep(digest, principal, { until, holder: principal.ref, isCurrent });
      return principal;
    } catch (error) {
      const refusal = toRefusal(error, jose.errors);
      if (error instanceof jose.errors.JWTExpired) memory.keepOver(digest, refusal);
      throw refusal;
    }
  };
  const mayBeOurs = (token: string): boolean =>
    issuer === undefined || readUnprovenClaims(token)?.["iss"] === issuer;
  const foreign = new Recent<true>(MAX_FOREIGN);
  const find: (...sent: Parameters<JwtVerifier>) => ReturnType<JwtVerifier> = (
    token,
    digest = digestOf(token),
  ) => {
    const known = memory.find(digest);
    if (known instanceof GatewayError) throw known;
    if (known) return known;
    if (foreign.get(digest)) return undefined;
    // Without a look at the key set: another issuer's tokens must not depend on ours being there.
    if (mayBeOurs(token)) return verify(token, digest);
    foreign.set(digest, true);
    return undefined;
  };
  return Object.assign(find, { mayBeOurs });
}

/** A token that is not signed with this key: somebody else may know it. */
export class UnclaimedToken extends GatewayError {
  constructor(cause?: unknown) {
    super("unauthorized", "The token is not valid.", { cause });
  }
}

function pickCheck({ secret, publicKey, jwks, rsaAlgorithm }: JwtConfig): Check {
  if ([secret, publicKey, jwks].filter((source) => source !== undefined).length !== 1)
    throw new GatewayError("invalid", "auth.jwt needs exactly one of secret, publicKey and jwks.", {
      hint: "Set the one that your tokens are signed for.",
      data: { path: "auth.jwt" },
    });
  if (secret !== undefined) return { algorithms: SYMMETRIC, key: new TextEncoder().encode(secret) };
  if (publicKey !== undefined) {
    const key = readPublicKey(publicKey);
    const isRsa = key.asymmetricKeyType === "rsa";
    return { algorithms: isRsa ? [rsaAlgorithm] : BY_KEY_TYPE[key.asymmetricKeyType!]!, key };
  }
  const keys = new KeySet(() => fetchKeys(jwks!), rsaAlgorithm);
  return {
    algorithms: PUBLIC_KEY_ALGORITHMS,
    key: (header, token) => keys.find(header, token),
    usableUntil: () => keys.usableUntil,
    mark: () => keys.mark(),
  };
}

async function fetchKeys(url: string): Promise<unknown> {
  // Made for each fetch, once in minutes: nothing has to end with the config then.
  const http = new ProviderHttp({
    allowedAddresses: [],
    option: "auth.jwt",
    timeout: JWKS_TIMEOUT_MS,
    fault: unusable,
  });
  try {
    const response = await http.from([])(url, { headers: { accept: "application/json" } });
    if (response.status !== 200) throw unusable(`it answers with HTTP ${response.status}`);
    return await response.json();
  } finally {
    await http.close();
  }
}

function unusable(why: string, cause?: unknown): GatewayError {
  return new GatewayError("upstream_error", `The key set cannot be used: ${why}.`, { cause });
}

/** Node would derive a public key from a private one; the operator who put that here gave a secret away. */
function readPublicKey(pem: string): KeyObject {
  try {
    const key = /PRIVATE KEY/.test(pem) ? undefined : createPublicKey(pem);
    if (key && Object.hasOwn(BY_KEY_TYPE, key.asymmetricKeyType ?? "")) return key;
  } catch {
    // Told below: the library's words may quote the key.
  }
  throw new GatewayError("invalid", "auth.jwt.publicKey is not a usable public key.", {
    hint: "Give the PEM text of an RSA, EC or Ed25519 public key (SPKI).",
    data: { path: "auth.jwt.publicKey" },
  });
}

function toPrincipal(
  { sub, ...claims }: JWTPayload,
  roleClaim: string,
  isQualified: boolean,
): Principal {
  if (typeof sub !== "string" || sub === "") throw refused("The token names no subject.");
  const named = [claimAt(claims, roleClaim)].flat();
  const roles = named.filter((role): role is Role => ROLES.includes(role as Role));
  return createPrincipal({
    id: isQualified ? qualifiedId(JWT, sub) : sub,
    kind: "user",
    roles: new Set(roles),
    expiresAt: (claims.exp! + CLOCK_TOLERANCE_S) * 1_000,
  });
}

/** A token that is wrong is the caller's fault; a key set that does not answer is not. */
function toRefusal(error: unknown, errors: typeof import("jose").errors): GatewayError {
  // Claims are looked at when the signature is known to be right.
  if (error instanceof errors.JWTExpired) return asProven(refused("The token has expired.", error));
  if (error instanceof errors.JWTClaimValidationFailed)
    return asProven(refused("The token is not valid.", error));
  const foreign = [
    errors.JWTInvalid,
    errors.JWSInvalid,
    errors.JWSSignatureVerificationFailed,
    errors.JOSEAlgNotAllowed,
    errors.JOSENotSupported,
    errors.JWKSNoMatchingKey,
    errors.JWKSMultipleMatchingKeys,
  ];
  if (foreign.some((kind) => error instanceof kind)) return new UnclaimedToken(error);
  if (error instanceof GatewayError) return error;
  return new GatewayError("upstream_error", "The token cannot be checked at the moment.", {
    cause: error,
    hint: "The key set of auth.jwt.jwks did not answer; try again.",
  });
}

function refused(message: string, cause?: unknown): GatewayError {
  return new GatewayError("unauthorized", message, { cause });
}
