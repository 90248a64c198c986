import { durationSchema } from "propylon";
import { secretKeysSchema } from "propylon/kit";
import { z } from "zod";

const DAY_MS = 86_400_000;
/** Longest that a per-turn token may live, in milliseconds. */
const MAX_TURN_MS = 600_000;

/** Schema of the options. */
export const optionsSchema = z.strictObject({
  secretKeys: secretKeysSchema,
  signing: z
    .strictObject({
      algorithm: z
        .enum(["HS256", "EdDSA"])
        .default("HS256")
        .describe(
          "How new keys sign: `HS256` with a secret that both sides have, or `EdDSA` with a pair, whose public keys are at `/.well-known/jwks.json`. Keys that are there keep theirs.",
        ),
    })
    .prefault({})
    .describe("How team tokens are signed."),
  issuer: z
    .string()
    .min(1)
    .max(200)
    .default("mnemosyne")
    .describe("`iss` of team tokens, of those that are made and those that are accepted."),
  audience: z.string().min(1).max(200).default("mnemosyne").describe("`aud` of team tokens."),
  enforceAudience: z
    .boolean()
    .default(false)
    .describe("Whether tokens without `audience` in `aud` are refused."),
  perTurn: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe("Whether tokens are accepted that a console makes for one request."),
      issuer: z.string().min(1).max(200).default("daedalus").describe("`iss` of such tokens."),
      maxAge: durationSchema()
        .refine((ms) => ms > 0 && ms <= MAX_TURN_MS, "expected more than 0 and at most 10m")
        .default(MAX_TURN_MS)
        .describe("Longest life of such a token, at most `10m`. A bare number is seconds."),
    })
    .prefault({})
    .describe("Tokens for one request, with the libraries in them."),
  teams: z
    .strictObject({
      ownership: z
        .boolean()
        .default(false)
        .describe(
          "Whether a service account sees and changes the teams alone that it made itself; those of others are not there for it.",
        ),
    })
    .prefault({})
    .describe("Teams of consoles."),
  audit: z
    .strictObject({
      retention: durationSchema()
        .refine((ms) => ms > 0, "expected more than 0")
        .default(90 * DAY_MS)
        .describe("How long rows of the audit are kept. A bare number is seconds."),
    })
    .prefault({})
    .describe("The record of what was changed."),
  revocation: z
    .strictObject({
      inFlight: z
        .enum(["cancel", "finish"])
        .default("cancel")
        .describe("What happens to running calls when their credential is removed."),
    })
    .prefault({})
    .describe("What else ends with a credential."),
  resolutionLog: z
    .enum(["debug", "info"])
    .default("debug")
    .describe(
      "Level of the line that each request writes: kind of principal and number of libraries.",
    ),
});

/** Options, durations in milliseconds. */
export type TeamAuthOptions = z.infer<typeof optionsSchema>;
