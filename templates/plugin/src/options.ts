import { z } from "zod";

/** Options of the plugin, as they stand in gateway.yaml. */
export const optionsSchema = z.strictObject({
  maxNotes: z
    .int()
    .min(1)
    .max(10_000)
    .default(100)
    .describe("Notes that are kept; the oldest makes way."),
});
