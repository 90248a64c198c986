import { durationSchema } from "propylon";
import { z } from "zod";

/** Bounds in seconds that the OpenTelemetry conventions for MCP advise. */
const BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Options of the metrics plugin. */
export const optionsSchema = z.strictObject({
  prefix: z
    .string()
    .regex(/^(?:[a-zA-Z_][a-zA-Z0-9_]*)?$/, "use letters, digits and underscores")
    .default("")
    .describe(
      'Put in front of the name of every metric of this plugin, e.g. "propylon_"; the JSON keeps its names. The shipped dashboard and alerts expect none.',
    ),
  public: z
    .boolean()
    .default(false)
    .describe("Let everyone read GET /metrics, for a scraper that cannot log in."),
  listener: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Listener of GET /metrics, e.g. a port that only the scraper can reach. Default: the first.",
    ),
  buckets: z
    .array(z.number().positive())
    .min(1)
    .max(50)
    .refine((bounds) => bounds.every((bound, at) => at === 0 || bound > bounds[at - 1]!), {
      message: "must ascend",
    })
    .default(BUCKETS)
    .describe(
      "Upper bounds of the duration histograms, in seconds, ascending. A change resets them.",
    ),
  maxTools: z
    .int()
    .min(1)
    .max(100_000)
    .default(1_000)
    .describe('Tools that get series of their own; calls of further ones count as tool="other".'),
  toolNames: z
    .boolean()
    .default(false)
    .describe(
      "Add the label gen_ai_tool_name to the histograms of the MCP conventions; each tool then has three histograms instead of one.",
    ),
  process: z
    .boolean()
    .default(true)
    .describe("Show figures of the process: memory, processor time, event loop."),
  cacheTtl: durationSchema()
    .default(1_000)
    .describe("How long the page of GET /metrics is reused. A bare number is seconds; 0 = never."),
});

/** {@link optionsSchema} filled in. */
export type MetricsOptions = z.output<typeof optionsSchema>;
