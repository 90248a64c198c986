/** Algorithms by the type of a key. A key is only ever used with those of its type: a public key as HMAC secret would verify anything (RFC 8725 section 3.1). */
export const BY_KEY_TYPE: Readonly<Record<string, readonly string[]>> = {
  rsa: ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
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
