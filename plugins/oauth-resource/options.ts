import { durationSchema } from "propylon";
import { isLoopback, ROLES } from "propylon/kit";
import { JWT, rsaAlgorithmSchema } from "propylon/internal";
import { z } from "zod";

/** RFC 6749 section 3.3; anything else could leave the quotes of a challenge. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

const url = () => z.url({ protocol: /^https?$/ });

/** Over plain HTTP anyone on the way could put keys of his own in place of the issuer's. */
const secureUrl = () =>
  url().refine((text) => {
    const { protocol, hostname, username, hash } = new URL(text);
    return (protocol === "https:" || isLoopback(hostname)) && username === "" && hash === "";
  }, "expected an https URL without credentials and fragment; http on loopback only");

/** Stands in front of the names of an issuer's people, as the name of auth.jwt does. */
export const issuerNameSchema = () =>
  z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,62}$/, "expected lower case letters, digits and dashes")
    .refine((name) => name !== JWT, `expected another name: ${JWT} stands for auth.jwt`);

const introspectionSchema = z.strictObject({
  url: secureUrl()
    .optional()
    .describe("Where tokens are asked about; default: what the issuer's metadata name."),
  clientId: z.string().min(1).describe("Id of the gateway at the issuer."),
  clientSecret: z.string().min(1).describe("Its secret, sent as Basic."),
  prefix: z
    .string()
    .max(64)
    .default("")
    .describe("How the issuer's opaque tokens begin; others are not sent to it."),
  ttl: durationSchema()
    .default(60_000)
    .describe(
      "Longest time that an answer is believed; shorter where it says so. 0 = asked for every request. A bare number is seconds.",
    ),
});

const issuerSchema = z
  .strictObject({
    issuer: secureUrl()
      .refine((text) => new URL(text).search === "", "expected a URL without a query")
      .describe("Required `iss`, exactly; clients log in there."),
    jwks: secureUrl()
      .optional()
      .describe("URL of its keys; default: what its metadata name (RFC 8414, OpenID Connect)."),
    rsaAlgorithm: rsaAlgorithmSchema(),
    introspection: introspectionSchema
      .optional()
      .describe("Ask the issuer about each token (RFC 7662) in place of a check of signatures."),
    qualify: z
      .boolean()
      .optional()
      .describe(
        "Whether its people are known as `<name>:<sub>` and not as `sub`; default: with several issuers, and beside auth.jwt and every plugin that names people, too.",
      ),
  })
  .refine(
    ({ jwks, introspection }) => jwks === undefined || introspection === undefined,
    "has jwks and introspection; expected one of them",
  );

/** Schema of the options. */
export const optionsSchema = z.strictObject({
  issuers: z
    .record(issuerNameSchema(), issuerSchema)
    .default({})
    .describe(
      "Authorization servers whose tokens count, by a name of your choice; the one of the plugin oauth counts on its own.",
    ),
  endpoints: z
    .record(
      z.string(),
      z.strictObject({
        resource: secureUrl()
          .optional()
          .describe("URL at which clients reach it; default: publicUrl and its path."),
      }),
    )
    .optional()
    .describe(
      "MCP endpoints that people log in to, by name; all others take keys only and tell nothing of logins. Default: all.",
    ),
  audiences: z
    .array(z.string().min(1))
    .default([])
    .describe("Values of `aud` that count everywhere, besides the URL that a request is for."),
  scopes: z
    .record(z.string().regex(SCOPE, "expected a scope (RFC 6749 section 3.3)"), z.enum(ROLES))
    .default({})
    .describe("Role that each scope gives. Without any every token has the role caller."),
  allowedAddresses: z
    .array(z.string().min(1))
    .default([])
    .describe(
      "Hosts, addresses and networks that metadata of an issuer may name, besides public ones; its own host is always allowed.",
    ),
  timeout: durationSchema()
    .refine((ms) => ms > 0, "expected more than zero")
    .default(5_000)
    .describe("Longest request to an issuer. A bare number is seconds."),
});

/** Options, durations in milliseconds. */
export type OauthResourceOptions = z.output<typeof optionsSchema>;
/** One issuer. */
export type IssuerOptions = OauthResourceOptions["issuers"][string];
/** How an issuer is asked about tokens. */
export type IntrospectionOptions = NonNullable<IssuerOptions["introspection"]>;
