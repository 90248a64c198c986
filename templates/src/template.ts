/** Names of the templates; each is a folder beside `src`. */
export const TEMPLATES = [
  {
    name: "minimal",
    hint: "one MCP endpoint, one server, one plugin of your own",
  },
  {
    name: "mcp-openapi",
    hint: "MCP servers as HTTP tools with OpenAPI documents, switches, history and metrics",
  },
  {
    name: "agent-team",
    hint: "agents that use tools and each other, with registry, health and progress",
  },
  {
    name: "a2a-runtime",
    hint: "an agent as an A2A runtime, fed from a durable queue",
  },
  {
    name: "lifecycle",
    hint: "tools that start, watch and stop long-running agents",
  },
  {
    name: "team-console",
    hint: "a console for teams of agents: hosts, workspaces and chat in a browser",
  },
  { name: "plugin", hint: "a plugin as a package of its own, ready to publish" },
] as const;

/** One of {@link TEMPLATES}. */
export type Template = (typeof TEMPLATES)[number];

/** The template of a name; `undefined` when there is none. */
export function findTemplate(name: string): Template | undefined {
  return TEMPLATES.find((template) => template.name === name);
}

/** What a project has unless it is left out. */
export const DEFAULT_EXTRAS = ["docker", "compose", "kubernetes"] as const;

/** What a project can have. */
export const EXTRAS = [...DEFAULT_EXTRAS, "postgres", "workers", "cluster"] as const;

/** One of {@link EXTRAS}. */
export type Extra = (typeof EXTRAS)[number];
