import { durationSchema, sizeSchema } from "propylon";
import { natsAccess } from "propylon/plugins/nats";
import { z } from "zod";

const token = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, - and _");
const subject = z
  .string()
  .regex(/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/, "must be a NATS subject without wildcards");
const file = z.string().min(1);

const natsSchema = z.strictObject({
  url: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
    .optional()
    .describe(
      "Servers, e.g. nats://nats:4222; tls:// demands TLS. Default: $NATS_URL; without it the queue is kept in memory.",
    ),
  ...natsAccess,
});

const runtimeSchema = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "Where the runtime listens. Default: http://localhost with $A2A_PORT, the manifest's port, or 8080.",
    ),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      "Headers for every request to the runtime, e.g. a key of its own; of `propylon sidecar`: --runtime-key or $RUNTIME_KEY.",
    ),
  manifest: file
    .optional()
    .describe(
      "File of the manifest; default: asked from the runtime at /runtime-contract.json, if it has one.",
    ),
  command: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      "Program and arguments of the runtime, to run it as a child, started again when it ends. Default: it runs elsewhere.",
    ),
  env: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      "Variables of the child, ${NAME} for one of ours. It sees these, A2A_PORT and those that the contract names, PATH, HOME, LANG and the like, and nothing else.",
    ),
  startupTimeout: durationSchema()
    .optional()
    .describe(
      "How long the runtime may take to become healthy; a bare number is seconds. Default: $STARTUP_TIMEOUT, else 60s.",
    ),
  interval: durationSchema()
    .default(5_000)
    .describe(
      "Pause between two looks at its health once it was healthy; a bare number is seconds.",
    ),
  stopTimeout: durationSchema()
    .default(5_000)
    .describe("How long a child gets from SIGTERM to SIGKILL; a bare number is seconds."),
  maxResult: sizeSchema()
    .default(64 * 1_024 * 1_024)
    .describe(
      "Largest answer of the runtime, and of a stream its largest event and all artifacts together; a bare number is bytes. More is given up at once: another run would do the work again.",
    ),
});

/** Options of the sidecar plugin. */
export const optionsSchema = z.strictObject({
  name: token
    .optional()
    .describe("Name of the agent whose tasks are taken. Default: $AGENT_NAME, else agent."),
  work: z
    .boolean()
    .default(true)
    .describe("Whether tasks are taken and run. false: this gateway only hands tasks in."),
  readiness: z
    .boolean()
    .default(true)
    .describe(
      "Whether GET /readyz is 503 while no tasks are taken. false: for a gateway that has other traffic, too.",
    ),
  runtime: runtimeSchema.prefault({}).describe("The runtime that does the work."),
  nats: natsSchema.prefault({}).describe("The queue."),
  subjects: z
    .strictObject({
      tasks: subject.default("agent.tasks").describe("Followed by the agent's name."),
      results: subject.default("agent.results").describe("Followed by the task's id."),
      status: subject.default("agent.status").describe("Followed by the task's id."),
      dead: subject.default("agent.dead").describe("Followed by the agent's name."),
    })
    .prefault({})
    .describe("First parts of the subjects."),
  streams: z
    .strictObject({
      tasks: token.default("AGENT_TASKS").describe("Tasks that wait."),
      results: token.default("AGENT_RESULTS").describe("One result for each task; the ledger."),
      dead: token.default("AGENT_DEAD").describe("Tasks that were given up."),
    })
    .prefault({})
    .describe("Names of the streams."),
  concurrency: z.int().min(1).max(1_000).default(1).describe("Tasks that run at the same time."),
  ackWait: durationSchema()
    .default(30_000)
    .describe(
      "Silence after which a task goes to another worker; a running task breaks it three times as often. A bare number is seconds.",
    ),
  maxDeliver: z
    .int()
    .min(1)
    .max(1_000)
    .default(5)
    .describe("Deliveries of a task before it is given up."),
  backoff: z
    .strictObject({
      initial: durationSchema().default(1_000).describe("After the first failure."),
      max: durationSchema().default(60_000).describe("At most."),
    })
    .prefault({})
    .describe(
      "Pause before a task is delivered again, doubled with each delivery; a bare number is seconds.",
    ),
  timeout: durationSchema()
    .default(3_600_000)
    .describe("Longest run of one delivery; a bare number is seconds."),
  retention: z
    .strictObject({
      results: durationSchema()
        .default(604_800_000)
        .describe("Results, and with them the memory of what was done."),
      dead: durationSchema().default(2_592_000_000).describe("Tasks that were given up."),
    })
    .prefault({})
    .describe("How long things are kept; a bare number is seconds."),
  grace: durationSchema()
    .optional()
    .describe(
      "How long running tasks get at a shutdown; a bare number is seconds. Default: $TERMINATION_GRACE_PERIOD, else 30s; at most timeouts.grace, less runtime.stopTimeout for a child.",
    ),
});

/** {@link optionsSchema} filled in. */
export type SidecarOptions = z.output<typeof optionsSchema>;
