import { addressSchema } from "propylon/kit";
import { z } from "zod";

/** Options of the registry plugin. */
export const optionsSchema = z.strictObject({
  listener: addressSchema()
    .optional()
    .describe("A listener of its own; default: the gateway's first."),
  requireAuth: z
    .boolean()
    .default(false)
    .describe("Ask for credentials, role viewer. By default the registry is open to everyone."),
  strictSchema: z
    .boolean()
    .default(false)
    .describe(
      "Change what the official schema of 2025-12-11 would refuse: fill in description and version, shorten what is too long, write sizes as lists, drop icons without an https address, move capabilities into _meta.",
    ),
});

/** {@link optionsSchema} filled in. */
export type RegistryOptions = z.output<typeof optionsSchema>;
