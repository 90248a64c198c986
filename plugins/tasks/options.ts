import { durationSchema, sizeSchema } from "propylon";
import { z } from "zod";

const afterSchema = z.union([z.literal(false), durationSchema()]);

/** Schema of the options. */
export const optionsSchema = z.strictObject({
  after: afterSchema
    .default(5_000)
    .describe(
      "How long a tool call of an MCP client that declares tasks may take before it becomes one. 0 = at once, false = never; a bare number is seconds.",
    ),
  tools: z
    .record(
      z.string().min(1),
      z.strictObject({
        after: afterSchema.optional().describe("In place of the `after` of all tools."),
        required: z
          .boolean()
          .default(false)
          .describe("Refuse calls of MCP clients that do not declare tasks, with -32021."),
      }),
    )
    .default({})
    .describe(
      "Rules for some tools, by `server.tool` with `*` for any run of characters; the first that fits counts.",
    ),
  ttl: durationSchema()
    .default(3_600_000)
    .describe("How long a task can be read after its end; a bare number is seconds."),
  pollInterval: durationSchema()
    .default(1_000)
    .describe("How often clients are asked to look; a bare number is seconds."),
  maxRunning: z
    .int()
    .min(0)
    .default(1_000)
    .describe("Tasks at work at a time. Beyond it calls are answered as without tasks."),
  maxRunningEach: z.int().min(0).default(100).describe("The same for one principal."),
  maxTasks: z
    .int()
    .min(0)
    .default(10_000)
    .describe("Tasks kept at a time, at work and ended. None goes before its time."),
  maxTasksEach: z.int().min(0).default(1_000).describe("The same for one principal."),
  maxTaskSize: sizeSchema()
    .default(3 * 1024 * 1024)
    .describe(
      "Largest result; a task with a larger one fails with `too_large`. A bare number is bytes.",
    ),
  maxTotalSize: sizeSchema()
    .default(64 * 1024 * 1024)
    .describe(
      "Bytes of all results kept, a quarter of it for one principal. A bare number is bytes.",
    ),
});

/** Options, durations in milliseconds. */
export type TasksOptions = z.output<typeof optionsSchema>;
