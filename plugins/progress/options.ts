import { durationSchema } from "propylon";
import { z } from "zod";

/** Options of the progress plugin. */
export const optionsSchema = z.strictObject({
  mode: z
    .enum(["strict", "compat"])
    .default("strict")
    .describe(
      "strict: what reaches a client always increases, as MCP wants. compat: the literal values of the source, 0 for a start and 1/1 for an end.",
    ),
  loop: z.boolean().default(true).describe("Report the turns of agents (emit_loop_progress)."),
  text: z
    .boolean()
    .default(false)
    .describe("Report the text of models while it is written, as `{agent} says: ...`."),
  heartbeatInterval: durationSchema()
    .default(15_000)
    .describe(
      "Report that a silent tool still runs, this often; a bare number is seconds, 0 = never.",
    ),
  burst: z
    .int()
    .min(1)
    .default(100)
    .describe("Reports of one call that pass at once; beyond it they are coalesced."),
  rate: z
    .number()
    .min(1)
    .default(20)
    .describe(
      "Reports of one call per second once the burst is used up; the latest of each source wins.",
    ),
});

/** {@link optionsSchema} filled in. */
export type ProgressOptions = z.output<typeof optionsSchema>;
