import { makeCatalogue, type Catalogue, type Json, type Tool } from "propylon";
import { z } from "zod";
import type { RemoteCard, RemoteSkill } from "./card.ts";
import { argumentsSchema } from "./message.ts";

const MAX_NAME = 64;
/** How much of an id is looked at. */
const MAX_ID = 256;

/** The tools of an agent by name, each with the id of its skill. */
export type SkillTools = ReadonlyMap<string, { readonly tool: Tool; readonly skill: string }>;

/** Every skill as a tool, their names unique and in their order. */
export function skillTools(skills: readonly RemoteSkill[]): SkillTools {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(argumentsSchema, { io: "input" }) as Json;
  const tools = new Map<string, { tool: Tool; skill: string }>();
  for (const skill of skills) {
    const name = uniqueName(skill.id, tools);
    tools.set(name, { tool: makeTool(name, skill, inputSchema), skill: skill.id });
  }
  return tools;
}

/** What the gateway shows of an agent. */
export function catalogueOf(card: RemoteCard, tools: SkillTools): Catalogue {
  const { name, version, description } = card;
  return makeCatalogue({
    tools: [...tools.values()].map(({ tool }) => tool),
    ...(description !== "" && { instructions: description }),
    serverInfo: { name, version },
  });
}

/** The id of the skill in `[A-Za-z0-9_.-]`, at most 64 characters. */
function uniqueName(id: string, taken: ReadonlyMap<string, unknown>): string {
  // Cut first: a long run of underscores would be looked through once for each of them.
  const clean = id
    .slice(0, MAX_ID)
    .replaceAll(/[^A-Za-z0-9_.-]+/g, "_")
    .replaceAll(/^_+|_+$/g, "");
  const base = clean.slice(0, MAX_NAME) || "skill";
  let name = base;
  for (let next = 2; taken.has(name); next++)
    name = `${base.slice(0, MAX_NAME - String(next).length - 1)}_${next}`;
  return name;
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
