import { z } from "zod";

/** One thing an agent can do. */
export const skillSchema = z.looseObject({
  id: z.string().min(1),
  name: z.string().min(1),
  description: z.string().min(1),
  tags: z.array(z.string()).max(1_000),
  examples: z.array(z.string()).max(1_000).optional(),
  inputModes: z.array(z.string()).max(1_000).optional(),
  outputModes: z.array(z.string()).max(1_000).optional(),
});

/** What an agent says of itself (agent-card.schema.json). Members of A2A 0.3 and 1.0 are kept. */
export const agentCardSchema = z.looseObject({
  name: z.string().min(1),
  description: z.string(),
  version: z.string().min(1),
  defaultInputModes: z.array(z.string()).max(1_000),
  defaultOutputModes: z.array(z.string()).max(1_000),
  skills: z.array(skillSchema).max(1_000).min(1),
  capabilities: z.looseObject({ streaming: z.boolean().optional() }),
});

/** One thing an agent can do. */
export type Skill = Readonly<z.output<typeof skillSchema>>;
/** What an agent says of itself. */
export type AgentCard = Readonly<z.output<typeof agentCardSchema>>;

/** Path of the card. */
export const CARD_PATH = "/.well-known/agent-card.json";
