import { RSA_ALGORITHMS } from "propylon/internal";

/** Algorithms by the type of a key. A key is only ever used with those of its type: a public key as HMAC secret would verify anything (RFC 8725 section 3.1). */
export const BY_KEY_TYPE: Readonly<Record<string, readonly string[]>> = {
  rsa: RSA_ALGORITHMS,
  ec: ["ES256", "ES384", "ES512"],
  ed25519: ["EdDSA", "Ed25519"],
};

/**
 * Algorithms of tokens that are verified with a public key; neither `none` nor one with a shared secret is among them.
 *
 * @example await jwtVerify(token, findKey, { algorithms: [...PUBLIC_KEY_ALGORITHMS] });
 */
export const PUBLIC_KEY_ALGORITHMS: readonly string[] = Object.values(BY_KEY_TYPE).flat();

/**
 * How much the clocks of an issuer and the gateway may differ, in seconds.
 *
 * @example const expiresAt = (claims.exp + CLOCK_TOLERANCE_S) * 1_000;
 */
export const CLOCK_TOLERANCE_S = 30;

/** A key that was withdrawn from its set is trusted no longer than this. */
const MAX_AGE_MS = 300_000;

/**
 * Until when a signature that was right is believed without a further look, in milliseconds since 1970.
 *
 * @example memory.keep(digest, principal, believedUntil(principal.expiresAt));
 */
export function believedUntil(expiresAt: number): number {
  return Math.min(expiresAt, Date.now() + MAX_AGE_MS);
}

/**
 * Whether a token may be of a kind, by its `typ`: it names that kind, or none. What the same issuer signed for something else (a logout
 * token, a proof, a request) never passes for it (RFC 8725 sections 3.11 and 3.12). Many issuers write `JWT`, which says nothing.
 *
 * @example if (!isOfKind(protectedHeader.typ, "at+jwt")) throw new GatewayError("unauthorized", "The token is not valid.");
 */
export function isOfKind(typ: unknown, kind: string): boolean {
  if (typ === undefined) return true;
  if (typeof typ !== "string") return false;
  const named = typ.toLowerCase().replace(/^application\//, "");
  return named === "jwt" || named === kind;
}
