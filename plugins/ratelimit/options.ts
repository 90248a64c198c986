import { durationSchema } from "propylon";
import { ROLES } from "propylon/kit";
import { z } from "zod";

const partSchema = z.enum(["principal", "server", "tool"]);

/** Names appear in headers, metrics and errors. */
const nameSchema = z
  .string()
  .regex(
    /^[a-z][a-z0-9-]{0,62}$/,
    "expected lower case letters, digits and dashes, a letter first",
  );

/** Which calls a rule is about, and which of them share. */
const selection = {
  per: z
    .union([partSchema.transform((part) => [part]), z.array(partSchema)])
    .describe(
      "Which calls share the limit: those with the same principal, server, tool, or a list of these; [] = all calls.",
    ),
  server: z
    .string()
    .min(1)
    .optional()
    .describe("Only calls to servers of this name; * is a wildcard."),
  tool: z
    .string()
    .min(1)
    .optional()
    .describe("Only calls of tools of this name at their own server; * is a wildcard."),
  role: z.enum(ROLES).optional().describe("Only calls of principals that have this role."),
};

const rateSchema = z.strictObject({
  ...selection,
  rate: z.number().positive().describe("Calls that a bucket gets back in each `interval`."),
  interval: durationSchema()
    .refine((ms) => ms > 0, "expected more than zero")
    .default(1_000)
    .describe("Time in which a bucket gets `rate` calls back. A bare number is seconds."),
  burst: z
    .int()
    .min(1)
    .optional()
    .describe(
      "Calls that a full bucket holds: in any time t at most `burst + rate * t / interval` run. Default: `rate`, at least 1.",
    ),
});

const capSchema = z.strictObject({
  ...selection,
  maxRunning: z.int().min(1).describe("Calls that run at the same time."),
  maxQueue: z
    .int()
    .min(0)
    .default(256)
    .describe("Calls that wait for their turn; those beyond are refused."),
  queueTimeout: durationSchema()
    .default(10_000)
    .describe(
      "Longest wait; it comes before the call's own time limit starts. A bare number is seconds.",
    ),
});

/** Schema of the options. */
export const optionsSchema = z.strictObject({
  rates: z.record(nameSchema, rateSchema).default({}).describe("Token buckets by name."),
  concurrency: z
    .record(nameSchema, capSchema)
    .default({ server: { per: ["server"], maxRunning: 64, maxQueue: 256, queueTimeout: 10_000 } })
    .describe(
      "Bounds on calls that run at the same time, by name; replaces the default, 64 per server with 256 waiting for 10s.",
    ),
});

/** Options, durations in milliseconds. */
export type RatelimitOptions = z.infer<typeof optionsSchema>;
/** One token bucket rule. */
export type RateOptions = z.infer<typeof rateSchema>;
/** One bound on calls that run at the same time. */
export type CapOptions = z.infer<typeof capSchema>;
/** Which calls a rule is about. */
export type Selection = Pick<RateOptions, "per" | "server" | "tool" | "role">;
