import { z } from "zod";

const agentId = z.string().describe("Id of the agent, from agent_start.");
const summary = z.string().describe("What was done and found.");
const payload = z.string().describe("The work product, as text.");

/** What append_payload does, for callers and agents alike. */
export const APPEND_WORDS =
  "Adds text to the end of an agent's payload; makes one when there is none.";

/** Arguments of a tool that is about one agent. */
export const agentIdSchema = z.object({ agent_id: agentId });

/** Arguments of append_payload. */
export const appendSchema = z.object({ agent_id: agentId, payload });

/** What a completion says. */
export type CompletionInput = { agent_id: string; summary: string; payload?: string | undefined };

const completeWithPayload = z.object({ agent_id: agentId, summary, payload: payload.optional() });
const complete = completeWithPayload.omit({ payload: true });

/** Arguments of agent_complete. */
export function completeSchema(hasPayloads: boolean): z.ZodType<CompletionInput> {
  return hasPayloads ? completeWithPayload : complete;
}

/** The same for the agent itself, which is known anyway. */
export const ownSchemas = {
  append: appendSchema.partial({ agent_id: true }),
  complete: complete.partial({ agent_id: true }),
  completeWithPayload: completeWithPayload.partial({ agent_id: true }),
};

/** What routes take, and forms ask for. */
export const bodySchemas = {
  create: z.strictObject({
    contract: z.string().min(1).describe("What the agent is to do."),
    agent: z.string().optional().describe("Which agent does it; default: the first."),
    start: z.boolean().default(false),
  }),
  complete: z.strictObject({ summary: z.string(), payload: z.string().optional() }),
};

/** Arguments of agent_status: answered at once, so there is a bound. */
export const idsSchema = z.object({
  agent_ids: z.array(z.string()).max(10_000).describe("Ids of agents, in the order of the answer."),
});

/** What starts an agent. */
export type Contract = { contract: string; agent?: string | undefined };

/** Arguments of agent_start; the agent may be chosen only where there is a choice. */
export function contractSchema(agents: readonly string[]): z.ZodType<Contract> {
  const contract = z
    .string()
    .min(1)
    .describe("What the agent has to do, with all it needs to know.");
  return agents.length > 1
    ? z.object({
        contract,
        agent: z
          .enum(agents)
          .optional()
          .describe(`Which agent does the work; default: ${agents[0]}.`),
      })
    : z.object({ contract });
}

const time = z.string().describe("ISO 8601.");
const status = z.enum(["ready", "running", "stopped", "completed"]);

/** Answer of agent_start. */
export const startedSchema = z.object({ agent_id: z.string(), status, started_at: time });

/** Answer of agent_complete and agent_stop. */
export const endedSchema = z.object({
  status,
  started_at: time,
  completed_at: time.optional(),
  stopped_at: time.optional(),
  already: z.boolean().optional().describe("It had ended before; nothing was changed."),
});

/** Answer of append_payload. */
export const appendedSchema = z.object({
  agent_id: z.string(),
  status,
  payload_size: z.int().optional().describe("Bytes, uncompressed."),
  payload_url: z.string().optional(),
  already: z.boolean().optional().describe("It had ended before; nothing was changed."),
});

/** An agent as agent_status tells it. */
const statusSchema = z.object({
  agent_id: z.string(),
  status: status.optional(),
  started_at: time.optional().describe("ISO 8601; while ready, when it was made."),
  completed_at: time.optional(),
  stopped_at: time.optional(),
  summary: z.string().optional(),
  stop_reason: z.string().optional().describe("Why it was stopped."),
  payload_size: z.int().optional().describe("Bytes, uncompressed."),
  payload_url: z.string().optional(),
  preview: z.string().optional().describe("Its latest output, while it runs."),
  error: z.string().optional(),
});

/** Answer of agent_status: MCP demands an object; the text is the list itself. */
export const statusesSchema = z.object({ agents: z.array(statusSchema).max(10_000) });
