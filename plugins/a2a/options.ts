import { durationSchema, sizeSchema } from "propylon";
import { contractVersionSchema } from "propylon/contract";
import { addressSchema } from "propylon/kit";
import type { StoreNeed } from "propylon/store";
import { z } from "zod";
import { pushSchema } from "./standard/push/options.ts";

const modes = z.array(z.string().min(1)).min(1);

/** Where a skill's work is done: exactly one of these. */
const KINDS = ["agent", "tool", "function", "command"] as const;

/** One skill as the config has it. */
export const skillOptionsSchema = z
  .strictObject({
    id: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/)
      .describe(
        "Name, of letters, digits, _ and -: in the card, in `metadata.skill` of messages, and as a tool.",
      ),
    name: z.string().min(1).optional().describe("Name for people; default: the id."),
    description: z
      .string()
      .min(1)
      .optional()
      .describe("What the skill can do. Default: the description of its agent or tool."),
    tags: z.array(z.string()).default([]).describe("Keywords for the card."),
    examples: z.array(z.string()).optional().describe("Messages that it can work on."),
    inputModes: modes
      .optional()
      .describe("Media types that it accepts; default: inputModes of the card."),
    outputModes: modes.optional().describe("Media types that it produces; default: outputModes."),
    agent: z.string().min(1).optional().describe("An agent of the config does the work."),
    tool: z
      .strictObject({
        server: z.string().min(1).describe("Server in the config, or a plugin."),
        name: z.string().min(1).describe("Name of the tool at its own server."),
        argument: z
          .string()
          .min(1)
          .optional()
          .describe(
            "Argument that takes the text of the message; default: the only text it takes.",
          ),
      })
      .optional()
      .describe("One tool of any server does the work."),
    function: z
      .string()
      .min(1)
      .optional()
      .describe(
        "A TypeScript or JavaScript file written with defineSkill, relative to the config.",
      ),
    command: z
      .array(z.string())
      .min(1)
      .optional()
      .describe("A program with its arguments; no shell. The text of the message is its input."),
    env: z
      .array(z.string().min(1))
      .default([])
      .describe("Variables of the gateway's environment that a command sees besides its own few."),
    maxOutput: sizeSchema()
      .default(1_048_576)
      .describe("Maximum output of a command; a bare number is bytes."),
    asks: z
      .boolean()
      .default(true)
      .describe(
        "Whether it may ask for more: an agent with the tool ask_user, tools by MCP elicitation.",
      ),
    timeout: durationSchema()
      .optional()
      .describe(
        "Longest work on one message; a bare number is seconds. Default: tasks.timeout, of a tool that of its server.",
      ),
  })
  .superRefine((skill, context) => {
    const given = KINDS.filter((kind) => skill[kind] !== undefined);
    if (given.length !== 1)
      context.addIssue({
        code: "custom",
        path: given.length > 1 ? [given[1]!] : [],
        message: `needs exactly one of ${KINDS.join(", ")}`,
      });
  });

/** One skill of the config, filled in. */
export type SkillOptions = z.output<typeof skillOptionsSchema>;

const skillsSchema = z
  .array(skillOptionsSchema)
  .default([])
  .superRefine((skills, context) => {
    const seen = new Set<string>();
    for (const [index, { id }] of skills.entries()) {
      if (seen.has(id))
        context.addIssue({ code: "custom", path: [index, "id"], message: "is there twice" });
      seen.add(id);
    }
  })
  .describe(
    "Skills of this runtime; the first one is the default. Without any there is no runtime, only servers of type a2a.",
  );

const listenerSchema = z
  .union([
    z.string().min(1),
    addressSchema().extend({
      port: addressSchema()
        .shape.port.optional()
        .describe("TCP port, 0 picks a free one; default: $A2A_PORT, else 8080."),
    }),
  ])
  .prefault({})
  .describe(
    "A listener of its own ({ host, port }), or one of `listeners` by name; default: the listener that has port $A2A_PORT (8080) already, else one of its own on it.",
  );

const tasksSchema = z
  .strictObject({
    maxRunning: z
      .int()
      .min(1)
      .default(100)
      .describe("Tasks at work at the same time; beyond it 429."),
    maxTasks: z
      .int()
      .min(1)
      .default(10_000)
      .describe(
        "Tasks kept. Beyond it the oldest ended task goes, of the principal with the most tasks.",
      ),
    maxTaskSize: sizeSchema()
      .default(16 * 1_048_576)
      .describe(
        "Maximum size of the messages and artifacts of one task as JSON; a bare number is bytes. Beyond it the task fails.",
      ),
    maxTotalSize: sizeSchema()
      .default(256 * 1_048_576)
      .describe(
        "Room for all tasks that ended or wait, as JSON; those that ended go first, then new ones get 429. A bare number is bytes.",
      ),
    maxShare: z
      .number()
      .gt(0)
      .max(1)
      .default(0.75)
      .describe(
        "The part of maxRunning, maxTasks and maxTotalSize that the tasks of one principal may take, rounded up. More are answered with 429. With 1 a single principal may take everything.",
      ),
    ttl: durationSchema()
      .default(86_400_000)
      .describe("How long a task that ended is kept, or one waits for input before it fails."),
    timeout: durationSchema()
      .default(3_600_000)
      .describe("Longest work on one message; a bare number is seconds."),
    cancelTimeout: durationSchema()
      .default(5_000)
      .describe("How long a cancelled task may take to end before it is given up on."),
  })
  .prefault({})
  .describe("Bounds of tasks.");

const sessionsSchema = z
  .strictObject({
    maxSessions: z
      .int()
      .min(1)
      .default(1_000)
      .describe("Conversations kept; the longest unused go first."),
    maxTotalSize: sizeSchema()
      .default(256 * 1_048_576)
      .describe("Room for all of them, as JSON; a bare number is bytes."),
    ttl: durationSchema()
      .default(86_400_000)
      .describe("How long an unused conversation is kept; a bare number is seconds."),
    compaction: z
      .union([
        z.literal(false),
        z.strictObject({
          maxTokens: z
            .int()
            .min(100)
            .default(60_000)
            .describe("Tokens of a conversation, estimated, above which it is compacted."),
          keepRatio: z
            .number()
            .min(0)
            .max(0.9)
            .default(0.4)
            .describe("Share of them that the newest messages keep word for word."),
          timeout: durationSchema()
            .default(60_000)
            .describe("Longest time for the summary; then the oldest messages are left out."),
        }),
      ])
      .prefault({})
      .describe("Replace the older part of a long conversation by a summary; false: never."),
  })
  .prefault({})
  .describe("Conversations of agents over several tasks with the same contextId.");

const path = z.string().startsWith("/").optional();
const flag = z.boolean().optional();

/** Not the schema of the contract: its defaults would stand in the way of what is worked out. */
const manifestOptionsSchema = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .optional()
      .describe("File that it is written to, relative to the config; default: it is only served."),
    contractVersion: contractVersionSchema.optional().describe("Default: v1."),
    conformanceLevel: z
      .int()
      .min(1)
      .max(3)
      .optional()
      .describe(
        "Default: 1; 2 with the plugin telemetry, 3 when the first skill is an agent with compaction too.",
      ),
    runtime: z
      .looseObject({
        name: z.string().min(1).optional().describe("Default: that of the card."),
        version: z.string().min(1).optional().describe("Default: that of the card."),
        description: z.string().optional().describe("Default: that of the card."),
      })
      .optional()
      .describe("Default: name, version and description of the card."),
    server: z
      .looseObject({
        port: z.int().min(1).max(65_535).optional().describe("TCP port."),
        healthPath: path.describe("Path of GET /health."),
        agentCardPath: path.describe("Path of the card."),
        taskPath: path.describe("Path that takes messages."),
      })
      .optional()
      .describe("Default: the port of the listener, and the paths as they are."),
    capabilities: z
      .looseObject({
        streaming: flag.describe("Whether answers are streamed."),
        traceContext: flag.describe("Whether trace context is passed on."),
        gracefulShutdown: flag.describe("Whether running tasks may end at SIGTERM."),
        contextCompaction: flag.describe("Whether long conversations are compacted."),
      })
      .optional()
      .describe(
        "Default: what is so. Traces need the plugin telemetry, compaction a first skill that is an agent.",
      ),
  })
  .prefault({})
  .describe("What runtime-contract.json says differently from what is worked out.");

/** Options of the a2a plugin. */
export const optionsSchema = z.strictObject({
  name: z.string().min(1).optional().describe("Name in the card; default: that of the gateway."),
  description: z
    .string()
    .min(1)
    .optional()
    .describe("Description of the runtime; default: made of its skills."),
  version: z.string().min(1).default("1.0.0").describe("Version in the card and the manifest."),
  provider: z
    .strictObject({
      organization: z.string().min(1).describe("Who offers the runtime."),
      url: z.url().describe("Its website."),
    })
    .optional()
    .describe("Who offers the runtime, for the card."),
  documentationUrl: z.url().optional().describe("Where people read about it, for the card."),
  iconUrl: z.url().optional().describe("An icon, for the card."),
  inputModes: modes
    .default(["text/plain", "application/json"])
    .describe("Media types that skills accept unless they say otherwise."),
  outputModes: modes
    .default(["text/plain", "application/json"])
    .describe("Media types that skills produce unless they say otherwise."),
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "Where clients reach it, for the card, which never takes it from a request; default: publicUrl, else the listener.",
    ),
  path: z
    .string()
    .regex(/^\/(?:[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*)?$/)
    .default("/")
    .describe("Path that takes messages; the routes of A2A over HTTP+JSON lie below it."),
  listener: listenerSchema,
  workDir: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Folder that commands work in; default: $WORK_DIR, else /workspace. Must be writable when there is a command.",
    ),
  cardTtl: durationSchema()
    .default(300_000)
    .describe("How long clients may keep the card (Cache-Control); a bare number is seconds."),
  skills: skillsSchema,
  execution: z
    .enum(["here", "queue"])
    .default("here")
    .describe(
      "Which replica works on a task: here, the one that its message came to; or queue, any replica that has room, which needs store: nats://... and the same skills at all of them.",
    ),
  tasks: tasksSchema,
  sessions: sessionsSchema,
  push: pushSchema.describe("Push notifications (A2A 1.0)."),
  manifest: manifestOptionsSchema,
});

/** Where the variables of the container's contract are read, when they are needed. */
export const environment: Readonly<Record<string, string | undefined>> = process.env;

/** {@link optionsSchema} filled in. */
export type A2aOptions = z.output<typeof optionsSchema>;

/** What the store must be able to do. Without skills nothing is handed out. */
export function storeNeedsOf({ execution, skills }: A2aOptions): readonly StoreNeed[] {
  return execution === "queue" && skills.length > 0
    ? [{ path: ["execution"], ability: "queue", by: "plugins.a2a.execution is queue" }]
    : [];
}
