import { z } from "zod";
import { isNetwork } from "../kit/addresses.ts";
import { ROLES } from "../kit/roles.ts";
import { rsaAlgorithmSchema } from "./rsa-algorithm.ts";

/**
 * What of the config's `auth` are credentials: options of the plugin `keys`, which checks them.
 *
 * @example const { keys } = credentialsSchema.parse({ keys: { ci: { role: "caller", hash } } });
 */
export const credentialsSchema = z.strictObject({
  apiKey: z
    .string()
    .min(16)
    .optional()
    .describe("Bearer token that grants full access. At least 16 characters."),
  keys: z
    .record(
      z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/),
      z.strictObject({
        role: z
          .enum(ROLES)
          .describe("What its holder may do; each of the first four includes those before it."),
        hash: z
          .string()
          .regex(/^sha256:[0-9a-f]{64}$/)
          .describe("Digest of the key, as printed by `propylon key`."),
      }),
    )
    .default({})
    .describe("Keys with a role each, by a name that appears in logs."),
  jwt: z
    .strictObject({
      secret: z
        .string()
        .min(32)
        .optional()
        .describe("Shared secret of HS256 tokens. At least 32 characters."),
      publicKey: z
        .string()
        .optional()
        .describe("PEM public key (SPKI) of RS256, ES256 or EdDSA tokens."),
      jwks: z
        .url({ protocol: /^https?$/ })
        .optional()
        .describe("URL of a JSON Web Key Set."),
      rsaAlgorithm: rsaAlgorithmSchema(),
      issuer: z.string().optional().describe("Required `iss`."),
      audience: z.string().optional().describe("Required `aud`."),
      roleClaim: z
        .string()
        .default("role")
        .describe(
          "Claim that holds the role or roles. A name with dots is a path: `realm_access.roles`.",
        ),
      qualify: z
        .boolean()
        .optional()
        .describe(
          "Whether its people are known as `jwt:<sub>` and not as `sub`; default: beside every plugin that names people, too.",
        ),
    })
    .optional()
    .describe("Accept signed JSON Web Tokens whose claim names a role."),
});

/** Who gets in, and what holds for all who try. */
export const authSchema = z.strictObject({
  ...credentialsSchema.shape,
  maxFailures: z
    .int()
    .min(0)
    .default(10)
    .describe(
      "Wrong credentials per minute from one address, and of one beginning; those beyond get 429 before anything is looked up. Credentials that were right within a day are not held up. 0 = any number.",
    ),
  trustedProxies: z
    .array(z.string().refine(isNetwork, "expected an address or a network such as 10.1.0.0/16"))
    .default([])
    .describe(
      "Addresses and networks of the proxies in front, e.g. 10.1.0.0/16: what they write into X-Forwarded-For is the address of a client. Default: it is that of the connection.",
    ),
  strict: z
    .boolean()
    .default(true)
    .describe(
      "Whether reading the management API takes credentials too, once any are configured. Changing always does.",
    ),
});
