import type { OptionReference } from "propylon/internal";
import type { AgentOptions, AgentsOptions } from "./options.ts";

/** The servers and listeners that agents name. */
export function findReferences({ agents }: AgentsOptions): readonly OptionReference[] {
  const names = Object.keys(agents);
  return Object.entries(agents).flatMap(([name, agent]) => referencesOf(name, agent, names));
}

function referencesOf(
  agent: string,
  { server, servers, dependsOn, listener }: AgentOptions,
  agents: readonly string[],
): readonly OptionReference[] {
  const own = { by: `The agent "${agent}"`, kind: "server" as const };
  const at = (...rest: (string | number)[]) => ({ path: ["agents", agent, ...rest] });
  return [
    ...(server === undefined ? [] : [{ ...own, ...at("server"), name: server }]),
    ...servers.map((name, index) => ({ ...own, ...at("servers", index), name })),
    ...dependsOn.map((name, index) => ({ ...own, ...at("dependsOn", index), name, also: agents })),
    ...(typeof listener === "string"
      ? [{ ...own, ...at("listener"), kind: "listener" as const, name: listener }]
      : []),
  ];
}
