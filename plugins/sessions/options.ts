import { durationSchema } from "propylon";
import { z } from "zod";

/** Options of the sessions plugin. */
export const optionsSchema = z.strictObject({
  idleTimeout: durationSchema()
    .default(28_800_000)
    .refine((ms) => ms >= 60_000, "expected at least 1m")
    .describe("How long a session lasts without a request; a bare number is seconds."),
  maxAge: durationSchema()
    .default(86_400_000)
    .refine((ms) => ms >= 60_000, "expected at least 1m")
    .describe("How long a session lasts at most; a bare number is seconds."),
  maxSessions: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(10_000)
    .describe("Sessions at the same time; one more is refused with 429."),
  maxPerPrincipal: z
    .int()
    .min(1)
    .max(10_000)
    .default(20)
    .describe("Sessions of one principal; one more ends its oldest."),
});

/** {@link optionsSchema} filled in. */
export type SessionsOptions = z.output<typeof optionsSchema>;
