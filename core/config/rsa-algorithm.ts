import { z } from "zod";

/**
 * Algorithms that an RSA key can sign with.
 *
 * @example const isRsa = RSA_ALGORITHMS.includes(header.alg as RsaAlgorithm);
 */
export const RSA_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const;

/**
 * How an RSA key signs.
 *
 * @example const algorithm: RsaAlgorithm = "PS256";
 */
export type RsaAlgorithm = (typeof RSA_ALGORITHMS)[number];

/**
 * The option beside keys of somebody else: an RSA key can sign in six ways, and each key is used in exactly one (RFC 8725
 * section 3.1). Keys of other types have one by their type and curve.
 *
 * @example const issuer = z.strictObject({ jwks: z.url(), rsaAlgorithm: rsaAlgorithmSchema() });
 */
export const rsaAlgorithmSchema = () =>
  z
    .enum(RSA_ALGORITHMS)
    .default("RS256")
    .describe("How an RSA key signs that does not say so itself (`alg` in a key set).");
