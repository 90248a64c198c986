import { durationSchema } from "propylon";
import { z } from "zod";

/** Schema of the options. */
export const optionsSchema = z.strictObject({
  failures: z
    .int()
    .min(1)
    .default(5)
    .describe("Transport failures in a row that open a server's circuit."),
  initial: durationSchema()
    .default(30_000)
    .describe(
      "How long a circuit is open the first time; twice as long each time its trial call fails. A bare number is seconds.",
    ),
  max: durationSchema()
    .default(300_000)
    .describe("Longest time a circuit is open before the next trial call."),
  autoDisable: z
    .boolean()
    .default(false)
    .describe(
      "Whether a server is switched off after `disableAfter` openings in a row, until somebody switches it on. Needs the plugin gating.",
    ),
  disableAfter: z
    .int()
    .min(1)
    .default(3)
    .describe("Openings in a row, without a success in between, after which autoDisable acts."),
});

/** Options, durations in milliseconds. */
export type BreakerOptions = z.infer<typeof optionsSchema>;
