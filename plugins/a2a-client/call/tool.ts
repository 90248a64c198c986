import { type Catalogue, type Json, type Tool } from "propylon";
import { toToolName, UniqueNames, makeCatalogue } from "propylon/kit";
import { z } from "zod";
import type { RemoteCard, RemoteSkill } from "../card/card.ts";
import { argumentsSchema } from "./message.ts";

/** A skill as a tool, with the id of the skill. */
export interface SkillTool {
  readonly tool: Tool;
  readonly skill: string;
}

/** Every skill as a tool, by name and in their order, their names unique. */
export function skillTools(skills: readonly RemoteSkill[]): ReadonlyMap<string, SkillTool> {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(argumentsSchema, { io: "input" }) as Json;
  const tools = new Map<string, SkillTool>();
  const names = new UniqueNames();
  for (const skill of skills) {
    const name = names.take(toToolName(skill.id) || "skill");
    tools.set(name, { tool: makeTool(name, skill, inputSchema), skill: skill.id });
  }
  return tools;
}

/** What the gateway shows of an agent. */
export function skillCatalogue(
  { name, version, description }: RemoteCard,
  tools: ReadonlyMap<string, SkillTool>,
): Catalogue {
  return makeCatalogue({
    tools: [...tools.values()].map(({ tool }) => tool),
    ...(description !== "" && { instructions: description }),
    serverInfo: { name, version },
  });
}

function makeTool(
  name: string,
  { name: title, description, examples }: RemoteSkill,
  inputSchema: Json,
): Tool {
  const said = description || title || name;
  const samples = (examples ?? []).map((example) => `- ${example}`);
  return {
    name,
    ...(title !== undefined && { title }),
    description: samples.length > 0 ? `${said}\n\nExamples:\n${samples.join("\n")}` : said,
    inputSchema,
    annotations: { ...(title !== undefined && { title }), openWorldHint: true },
  };
}
