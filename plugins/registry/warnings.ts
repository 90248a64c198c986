import type { PluginContext } from "propylon";
import { Checks } from "propylon/kit";
import type { AgentInfo } from "propylon/plugins/agents";
import { strictProblems } from "./entry.ts";

/** Tells of agents that official registries would refuse. */
export function warnOfRefusals(
  gateway: Pick<PluginContext, "add">,
  agents: readonly AgentInfo[],
): void {
  for (const { name, problem } of agents.flatMap(problemsOf))
    gateway.add(Checks, {
      name,
      ask: () => ({
        message: `Official registries would refuse the agent "${name}": ${problem}.`,
        path: ["plugins", "agents", "agents", name],
        hint: "Correct it, or set plugins.registry.strictSchema: true.",
      }),
    });
}

function problemsOf(agent: AgentInfo): readonly { name: string; problem: string }[] {
  return strictProblems(agent).map((problem) => ({ name: agent.name, problem }));
}
