import { durationSchema } from "propylon";
import { addressSchema } from "propylon/kit";
import { z } from "zod";
import { providersSchema } from "./models/options.ts";
import { orderByNeed } from "./order.ts";

/** Name of an agent, and of its tool: what models and MCP clients alike accept. */
const nameSchema = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);

const limitsShape = {
  turns: z.int().min(1).describe("Maximum requests to the model in one run."),
  tokens: z
    .int()
    .min(1)
    .describe("Maximum tokens in one run, read and written; checked after each request."),
  timeout: durationSchema().describe(
    "Longest run, in place of timeouts.default; a bare number is seconds.",
  ),
  toolCalls: z.int().min(0).describe("Maximum tool calls in one run."),
  outputTokens: z
    .int()
    .min(1)
    .describe(
      "Maximum tokens in one answer of the model; default: capabilities.max_output_tokens.",
    ),
  parallel: z.int().min(1).describe("Maximum tool calls at once."),
  result: z
    .int()
    .min(1)
    .describe(
      "Maximum characters of one tool result that the model is shown; the rest is cut off.",
    ),
};

/** What bounds a run where its agent says nothing. */
const limitsSchema = z
  .strictObject({
    turns: limitsShape.turns.default(30),
    tokens: limitsShape.tokens.optional(),
    timeout: limitsShape.timeout.default(600_000),
    toolCalls: limitsShape.toolCalls.default(200),
    outputTokens: limitsShape.outputTokens.optional(),
    parallel: limitsShape.parallel.default(8),
    result: limitsShape.result.default(100_000),
  })
  .prefault({})
  .describe("Budgets of one run, for agents that set none of their own.");

const listenerSchema = z.union([z.string(), addressSchema()]);

/** One agent as the config has it. */
const agentSchema = z
  .strictObject({
    title: z.string().optional().describe("Name for people."),
    description: z
      .string()
      .optional()
      .describe("What the agent can do. Models and clients choose an agent by this text."),
    version: z.string().optional().describe("Its version, for the registry."),
    icons: z
      .array(z.looseObject({ src: z.string().describe("URL, absolute or relative.") }))
      .optional()
      .describe(
        "Icons, for the registry and the tool; published as they are, to clients of the tool with sizes as a list.",
      ),
    id: z
      .string()
      .min(1)
      .max(255)
      .refine(
        (id) => !id.endsWith("/"),
        "must not end with a slash: what follows the last one is the agent's name there",
      )
      .optional()
      .describe("What the registry calls it; default: `<name of the gateway>-<agent>`."),
    model: z
      .string()
      .optional()
      .describe(
        "Provider and model that drive it, e.g. openai/gpt-5; default: plugins.agents.model.",
      ),
    instructions: z
      .union([
        z.string(),
        z.strictObject({ file: z.string().describe("Text file, relative to the config.") }),
      ])
      .optional()
      .describe(
        "Instructions for the model, sent before every conversation: a text, or { file: ./x.md }.",
      ),
    file: z
      .string()
      .optional()
      .describe(
        "An agent written in TypeScript or JavaScript with defineAgent, relative to the config.",
      ),
    server: z
      .string()
      .optional()
      .describe("Present this server as the agent: its tools are the agent's endpoint."),
    servers: z.array(z.string()).default([]).describe("Servers whose tools it may use."),
    agents: z.array(nameSchema).default([]).describe("Other agents that it may use as tools."),
    tools: z
      .strictObject({
        include: z
          .array(z.string())
          .optional()
          .describe(
            "Only these tools, as tool or server/tool (`*` matches any run of characters).",
          ),
        exclude: z.array(z.string()).optional().describe("Not these tools, written the same way."),
      })
      .prefault({})
      .describe(
        "Which of the tools of its servers it may use; default: all that are not disabled.",
      ),
    dependsOn: z
      .array(z.string())
      .default([])
      .describe(
        "Servers and agents without which it cannot work: while one is down, calls are refused and its health is error. No circles.",
      ),
    listener: listenerSchema
      .optional()
      .describe(
        "A listener of its own ({ host, port }), or one of `listeners` by name; default: the first.",
      ),
    path: z
      .string()
      .regex(/^\/[A-Za-z0-9._~/-]*$/)
      .optional()
      .describe(
        "Path of its MCP endpoint; default: /mcp on a listener of its own, else `/agents/<agent>/mcp`.",
      ),
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe(
        "Where clients reach the endpoint, for the registry; default: worked out from publicUrl and the listener.",
      ),
    toolName: nameSchema.optional().describe("Name of its tool; default: that of the agent."),
    capabilities: z
      .looseObject({
        model: z.string().optional().describe("Name of the model."),
        vision: z
          .boolean()
          .optional()
          .describe("Whether it understands images; only then it takes any."),
        context_window: z.int().optional().describe("Tokens."),
        max_output_tokens: z.int().optional().describe("Tokens; the model is asked for no more."),
      })
      .optional()
      .describe("Capabilities of its model, which the plugin registry publishes."),
    registry: z
      .strictObject({
        schema: z.boolean().optional().describe("false leaves $schema out of its entry."),
        updatedAt: z.iso.datetime().optional().describe("In place of the time of its last change."),
      })
      .optional()
      .describe("What its registry entry does differently."),
    temperature: z
      .number()
      .min(0)
      .max(2)
      .optional()
      .describe("How freely its model writes; default: that of the provider."),
    limits: z
      .strictObject({
        turns: limitsShape.turns.optional(),
        tokens: limitsShape.tokens.optional(),
        timeout: limitsShape.timeout.optional(),
        toolCalls: limitsShape.toolCalls.optional(),
        outputTokens: limitsShape.outputTokens.optional(),
        parallel: limitsShape.parallel.optional(),
        result: limitsShape.result.optional(),
      })
      .prefault({})
      .describe("Budgets of one run; default: plugins.agents.limits."),
  })
  .superRefine((agent, context) => {
    const kinds = (["model", "file", "server"] as const).filter(
      (kind) => agent[kind] !== undefined,
    );
    if (agent.server !== undefined && kinds.length > 1)
      refuse(
        context,
        kinds.find((kind) => kind !== "server")!,
        "cannot stand beside server: that agent is elsewhere",
      );
    if (agent.server !== undefined && agent.servers.length + agent.agents.length > 0)
      refuse(
        context,
        agent.servers.length > 0 ? "servers" : "agents",
        "cannot stand beside server: that agent has its own",
      );
    if (agent.file !== undefined && agent.instructions !== undefined)
      refuse(
        context,
        "instructions",
        "cannot stand beside file: the file says what the agent does",
      );
  });

function refuse(context: z.RefinementCtx, key: string, message: string): void {
  context.addIssue({ code: "custom", path: [key], message });
}

/** One agent of the config, filled in. */
export type AgentOptions = z.output<typeof agentSchema>;

/** The agents by name. */
const agentsSchema = z
  .record(
    // What every object has would be found where no agent is.
    nameSchema.refine((name) => !(name in {}), "cannot be the name of an agent"),
    agentSchema,
  )
  .default({})
  .superRefine((agents, context) => {
    const names = Object.keys(agents);
    for (const [name, agent] of Object.entries(agents)) {
      for (const [index, other] of agent.agents.entries())
        if (!Object.hasOwn(agents, other) || other === name)
          context.addIssue({
            code: "custom",
            path: [name, "agents", index],
            message:
              other === name
                ? "is the agent itself"
                : `is not an agent; there are: ${names.filter((known) => known !== name).join(", ")}`,
          });
    }
    const ordered = orderByNeed(
      Object.fromEntries(names.map((name) => [name, agents[name]!.dependsOn])),
    );
    if ("circle" in ordered)
      refuse(context, ordered.circle[0]!, `waits for itself: ${ordered.circle.join(" > ")}`);
  })
  .describe("Agents by name; better written as `agents` at the top of the config.");

/** Options of the agents plugin. */
export const optionsSchema = z.strictObject({
  agents: agentsSchema,
  providers: providersSchema,
  model: z
    .string()
    .optional()
    .describe("Provider and model of agents that name none, e.g. openai/gpt-5."),
  limits: limitsSchema,
  maxDepth: z
    .int()
    .min(1)
    .default(5)
    .describe("Longest chain of agents that call each other; a longer one is refused."),
});

/** The agents as people write them. */
export type AgentsInput = z.input<typeof agentsSchema>;

/** {@link optionsSchema} filled in. */
export type AgentsOptions = z.output<typeof optionsSchema>;
