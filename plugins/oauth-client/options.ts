import { durationSchema } from "propylon";
import { secretKeysSchema } from "propylon/kit";
import { z } from "zod";

/** Schema of the options. */
export const optionsSchema = z.strictObject({
  secretKeys: secretKeysSchema,
  identify: z
    .enum(["credentials", "confirm"])
    .default("credentials")
    .describe(
      "How the page that starts a login knows who opens it: by `credentials` of the gateway, or by a question that names for whom it is.",
    ),
  clientName: z
    .string()
    .min(1)
    .max(100)
    .default("Propylon")
    .describe("Name that authorization servers show to people."),
  allowedAddresses: z
    .array(z.string())
    .default([])
    .describe(
      "Hosts, addresses and networks that servers may name for logins besides public ones, e.g. `login.internal` or `10.1.0.0/16`.",
    ),
  timeout: durationSchema()
    .default(10_000)
    .describe("Longest wait for an answer of an authorization server; a bare number is seconds."),
});

/** Options as read. */
export type OauthClientOptions = z.output<typeof optionsSchema>;
