import { isPlainObject } from "./variables.ts";
import type { Move } from "./clients.ts";
import type { PathIssue } from "./issue.ts";

/** A config whose `agents` stand where the agents plugin has its options. */
export interface Sectioned {
  readonly value: unknown;
  readonly issues: readonly PathIssue[];
  readonly moves: readonly Move[];
}

/**
 * `agents` at the top of a config is how people write `plugins.agents.agents`: agents are what a gateway is about, not an option
 * of a plugin. Where there are any the plugin is used, unless it is switched off.
 */
export function moveAgents(config: unknown): Sectioned {
  const stays: Sectioned = { value: config, issues: [], moves: [] };
  if (!isPlainObject(config)) return stays;
  const { agents, ...rest } = config;
  const plugins = rest["plugins"] ?? {};
  // What is wrong with either is for the schema to say.
  if (!isPlainObject(agents) || !isPlainObject(plugins)) return stays;
  const options = plugins["agents"] ?? {};
  if (options === false) return { ...stays, value: rest };
  if (isPlainObject(options) && options["agents"] !== undefined)
    return { ...stays, value: rest, issues: [twice()] };
  const own = isPlainObject(options) ? options : {};
  return {
    value: { ...rest, plugins: { ...plugins, agents: { ...own, agents } } },
    issues: [],
    moves: [[["agents"], ["plugins", "agents", "agents"]]],
  };
}

function twice(): PathIssue {
  return {
    path: ["agents"],
    at: "key",
    message: "There are agents here and in plugins.agents.agents.",
    hint: "Keep them at the top, and what else the plugin is told in plugins.agents.",
  };
}
