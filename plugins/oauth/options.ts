import { durationSchema } from "propylon";
import { isLoopback, secretKeysSchema, ROLES } from "propylon/kit";
import { rsaAlgorithmSchema } from "propylon/internal";
import { issuerNameSchema } from "propylon/plugins/oauth-resource";
import { z } from "zod";
import { isRedirect } from "./redirects.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Over plain HTTP anyone on the way could log in as somebody else. */
const providerUrl = () =>
  z.url({ protocol: /^https?$/ }).refine((text) => {
    const { protocol, hostname, username, search, hash } = new URL(text);
    const isSecure = protocol === "https:" || isLoopback(hostname);
    return isSecure && username === "" && search === "" && hash === "";
  }, "expected an https URL without credentials, query and fragment; http on loopback only");

const duration = (max: number, words: string) =>
  durationSchema().refine(
    (ms) => ms >= 1_000 && ms <= max,
    `expected at least 1s and at most ${words}`,
  );

const roleName = z.enum(ROLES);

const ruleSchema = z.union(
  [
    z.literal("everyone"),
    z.record(
      z.string().min(1).max(100),
      z.array(z.union([z.string().max(200), z.boolean()])).min(1),
    ),
  ],
  "expected everyone, or claims with the values that count",
);

const providerSchema = z
  .strictObject({
    issuer: providerUrl().describe(
      "Issuer of the OpenID provider, as its discovery document names it.",
    ),
    clientId: z.string().min(1).describe("Id of the gateway at the provider."),
    clientSecret: z
      .string()
      .min(1)
      .optional()
      .describe("Its secret; without it the gateway is a public client there."),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/))
      .default(["openid", "profile", "email"])
      .describe("What is asked for; `openid` always."),
    subject: z
      .string()
      .min(1)
      .max(100)
      .default("sub")
      .describe(
        "Claim that a person is known by. It must never change or pass to somebody else: `email` counts only where the provider has verified it.",
      ),
    userinfo: z
      .boolean()
      .default(false)
      .describe(
        "Whether claims are read at the userinfo endpoint too, for providers that tell groups there only.",
      ),
    rsaAlgorithm: rsaAlgorithmSchema(),
    timeout: duration(MINUTE_MS, "1m")
      .default(5_000)
      .describe("Longest request to the provider. A bare number is seconds."),
  })
  .describe("The OpenID provider where people log in.");

const clientSchema = z.strictObject({
  name: z.string().min(1).max(100).describe("What the page of consent calls it."),
  redirects: z
    .array(
      z
        .string()
        .refine(isRedirect, "expected an https URL, http on loopback, or a scheme of a program"),
    )
    .min(1)
    .describe("Where codes may be sent, exactly; on loopback any port."),
  secret: z.string().min(16).optional().describe("Its secret; without it the client is public."),
});

const registrationSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe("Whether programs may register themselves (RFC 7591)."),
    maxClients: z
      .int()
      .min(1)
      .max(100_000)
      .default(10_000)
      .describe(
        "Maximum number of registrations; a new one replaces the oldest that nobody has logged in with.",
      ),
    perAddress: z
      .int()
      .min(1)
      .max(10_000)
      .default(60)
      .describe("Registrations per hour from one address."),
  })
  .prefault({})
  .describe("Programs that register themselves.");

/** Schema of the options. */
export const optionsSchema = z.strictObject({
  provider: providerSchema,
  roles: z
    .partialRecord(roleName, ruleSchema)
    .refine((roles) => Object.keys(roles).length > 0, "expected at least one role")
    .describe(
      "Who may come in, and as what: for each role `everyone` who can log in at the provider, or claims with values of which one is enough, e.g. `caller: { groups: [staff] }`. A name with dots is a path: `realm_access.roles`. A value of `email` counts only where the provider has verified it.",
    ),
  name: issuerNameSchema()
    .default("login")
    .describe("Stands in front of the people's names: `user:<name>:<subject>`."),
  clients: z
    .record(z.string().regex(/^[\w.-]{1,100}$/, "expected letters, digits and ._-"), clientSchema)
    .default({})
    .describe("Programs that are known beforehand, by their client id."),
  registration: registrationSchema,
  documents: z
    .boolean()
    .default(true)
    .describe(
      "Whether programs may be known by the URL of a document about them (Client ID Metadata Documents).",
    ),
  allowedAddresses: z
    .array(z.string().min(1))
    .default([])
    .describe(
      "Hosts, addresses and networks besides public ones where such documents, and endpoints that the provider names, may be.",
    ),
  accessToken: duration(HOUR_MS, "1h")
    .default(HOUR_MS)
    .describe("Life of an access token, at most `1h`. A bare number is seconds."),
  login: duration(365 * DAY_MS, "365d")
    .default(30 * DAY_MS)
    .describe(
      "How long a program goes on before its person logs in again. A bare number is seconds.",
    ),
  reuseGrace: durationSchema()
    .refine((ms) => ms <= MINUTE_MS, "expected at most 1m")
    .default(10_000)
    .describe(
      "How long the last refresh token is answered once more with the same successor, for programs that refresh twice at once. 0: at once every reuse ends the login. A bare number is seconds.",
    ),
  signing: z
    .strictObject({
      algorithm: z.enum(["EdDSA", "ES256"]).default("EdDSA").describe("How new keys sign."),
      rotation: duration(365 * DAY_MS, "365d")
        .default(30 * DAY_MS)
        .describe("How long a key signs. A bare number is seconds."),
    })
    .prefault({})
    .describe("Keys that sign access tokens."),
  secretKeys: secretKeysSchema,
});

/** Options, durations in milliseconds. */
export type OauthOptions = z.output<typeof optionsSchema>;
