import { z } from "zod";

/** Options of the plugin. */
export const optionsSchema = z.strictObject({
  schema: z
    .string()
    .regex(
      /^(?!pg_)[a-z_][a-z0-9_]{0,47}$/,
      "Use lower-case letters, digits and _; not pg_ in front.",
    )
    .default("propylon")
    .describe("Schema of the database with the tables. Gateways with one schema share everything."),
  maxConnections: z
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(10)
    .describe(
      "Connections at most, besides one for changes. Relational data of plugins has as many of its own.",
    ),
});

/** Options of the plugin as validated. */
export type PostgresOptions = z.infer<typeof optionsSchema>;
