import { durationSchema, sizeSchema } from "propylon";
import { z } from "zod";

const agentName = z.string().min(1);

/** Options of the lifecycle plugin. */
export const optionsSchema = z.strictObject({
  agent: z
    .union([agentName, z.array(agentName).min(1)])
    .optional()
    .describe(
      "Which agent of the config takes contracts. Several: the caller may choose, and the first is the default. Default: the first agent of the config.",
    ),
  concurrency: z
    .int()
    .min(1)
    .default(50)
    .describe(
      "Maximum number of agents that run at the same time; further agents wait. A stopped agent keeps its place until its request to the model ends.",
    ),
  maxWaiting: z
    .int()
    .min(0)
    .default(1_000)
    .describe("Agents that may be ready at the same time; further ones are refused."),
  maxWaitingEach: z.int().min(0).default(250).describe("The same for one principal."),
  maxPreview: z
    .int()
    .min(0)
    .default(200)
    .describe("Characters of recent output in the status of a running agent; 0: none."),
  maxOutput: sizeSchema()
    .default(64 * 1024)
    .describe("How much of the last output is kept of each agent; a bare number is bytes."),
  maxReminders: z
    .int()
    .min(0)
    .max(10)
    .default(1)
    .describe(
      "How often an agent that ends its turn without completing its contract is told to go on or complete it.",
    ),
  completeAfterStop: z
    .enum(["ignore", "accept"])
    .default("ignore")
    .describe("Whether agent_complete still counts for an agent that was stopped."),
  retention: z
    .strictObject({
      maxAgents: z.int().min(0).default(10_000).describe("Agents that ended."),
      ttl: durationSchema()
        .default(86_400_000)
        .describe("Time since they ended, or were made and not started; a bare number is seconds."),
      maxSize: sizeSchema()
        .default(64 * 1024 * 1024)
        .describe("Contracts, summaries and output together; a bare number is bytes."),
    })
    .prefault({})
    .describe(
      "How many agents that ended are kept; the oldest of the owner with most go first, with their payloads.",
    ),
});

/** {@link optionsSchema} filled in. */
export type LifecycleOptions = z.output<typeof optionsSchema>;
