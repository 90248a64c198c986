import { z } from "zod";

/** RFC 6749 section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

const clientSchema = z
  .strictObject({
    id: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Client id that the authorization server gave. Default: the gateway introduces itself.",
      ),
    secret: z.string().min(1).optional().describe("Secret of that client."),
    privateKey: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Private key of that client in place of a secret (RFC 7523): PEM (PKCS #8) or a JSON Web Key.",
      ),
    algorithm: z
      .enum(["ES256", "ES384", "RS256", "PS256", "EdDSA"])
      .default("ES256")
      .describe("How the private key signs."),
    metadataUrl: z
      .url({ protocol: /^https$/ })
      .optional()
      .describe(
        "URL of a client ID metadata document that you publish yourself. Default: the gateway's own, where `publicUrl` is https.",
      ),
  })
  .refine(
    ({ id, secret, privateKey }) => id !== undefined || (secret ?? privateKey) === undefined,
    {
      path: ["id"],
      message: "A secret or a private key belongs to a client id.",
    },
  )
  .refine(({ secret, privateKey }) => secret === undefined || privateKey === undefined, {
    path: ["privateKey"],
    message: "A client has a secret or a private key, not both.",
  });

/**
 * How the gateway logs in at a server.
 *
 * @example const auth = serverAuthSchema.parse({ type: "oauth", per: "principal" });
 */
export const serverAuthSchema = z
  .strictObject({
    type: z.literal("oauth").describe("OAuth 2.1, as the MCP specification has it."),
    per: z
      .enum(["gateway", "principal"])
      .default("gateway")
      .describe("Whose account: one of the `gateway` for all callers, or one of each `principal`."),
    grant: z
      .enum(["authorization_code", "client_credentials"])
      .default("authorization_code")
      .describe("`client_credentials` logs in without a person."),
    scopes: z
      .array(z.string().regex(SCOPE))
      .min(1)
      .optional()
      .describe("Scopes to ask for. Default: those that the server asks for."),
    issuer: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe("The only authorization server to use. Default: the first that the server names."),
    pkce: z
      .enum(["required", "assume"])
      .default("required")
      .describe(
        "Whether the authorization server has to say that it supports PKCE with S256. `assume`: it does and does not say so, as Entra ID; with `issuer` only. PKCE is sent in either case.",
      ),
    client: clientSchema
      .prefault({})
      .describe("The gateway as a client of the authorization server."),
    maxConnections: z
      .int()
      .min(1)
      .max(10_000)
      .default(64)
      .describe(
        "Maximum number of open connections of principals; when it is reached, an idle one is closed.",
      ),
  })
  .refine(({ grant, per }) => grant !== "client_credentials" || per === "gateway", {
    path: ["per"],
    message: "A machine has one account: client_credentials goes with per: gateway.",
  })
  .refine(({ grant, client }) => grant !== "client_credentials" || client.id !== undefined, {
    path: ["client", "id"],
    message: "client_credentials needs a client id.",
  })
  .refine(({ pkce, issuer }) => pkce !== "assume" || issuer !== undefined, {
    path: ["pkce"],
    message: "can be assumed of an issuer that you name only: set auth.issuer beside it",
  });

/**
 * The login of a server as it was read.
 *
 * @example const { per, grant }: ServerAuth = readAuth(entry.auth);
 */
export type ServerAuth = z.output<typeof serverAuthSchema>;

/**
 * The login of an entry of `servers`, with the defaults for the word alone.
 *
 * @example const auth = entry.auth && readAuth(entry.auth);
 */
export function readAuth(auth: "oauth" | ServerAuth): ServerAuth {
  return auth === "oauth" ? serverAuthSchema.parse({ type: "oauth" }) : auth;
}
