import { z } from "zod";

/** Options of the plugin. */
export const optionsSchema = z.strictObject({
  prefix: z
    .string()
    .regex(/^[\w.-]{1,64}$/, "Use letters, digits and ._-")
    .default("propylon")
    .describe("Begins every key and channel. Gateways with one prefix share everything."),
});

/** Options of the plugin as validated. */
export type RedisOptions = z.infer<typeof optionsSchema>;
