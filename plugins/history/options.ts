import { sizeSchema } from "propylon";
import { z } from "zod";

/** What Node 20 can have in one piece, with some to spare. */
const MAX_MEMORY = 2 * 1_073_741_824;

/** Options of the history plugin. */
export const optionsSchema = z.strictObject({
  maxEntries: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(1_000)
    .describe("Calls to remember; the oldest one goes when there are more."),
  maxMemory: sizeSchema()
    .refine((bytes) => bytes <= MAX_MEMORY, "expected at most 2GiB")
    .default(8 * 1_048_576)
    .describe(
      "Memory that all of them may take; the oldest ones go when it is more. At most 2GiB, taken in one block, which the system fills as it is used.",
    ),
  arguments: z
    .enum(["off", "redacted", "full"])
    .default("redacted")
    .describe(
      "What is kept of arguments: nothing, all but the values of secret names, or everything.",
    ),
  maxArguments: sizeSchema()
    .default(16 * 1_024)
    .describe("Memory for the arguments of one call, as estimated; the rest is cut off."),
  results: z.boolean().default(true).describe("Keep the beginning of results."),
  maxResult: sizeSchema()
    .default(4 * 1_024)
    .describe("Bytes kept of one result."),
  redact: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'More secrets, besides the usual names such as password, token or apiKey: a name, wherever it stands, or a path with dots, e.g. "customer.card" or "headers.*".',
    ),
});

/** {@link optionsSchema} filled in. */
export type HistoryOptions = z.output<typeof optionsSchema>;
