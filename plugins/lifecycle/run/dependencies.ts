import { GatewayError } from "propylon";
import type { LifecycleOptions } from "../options.ts";
import type { Logger } from "pino";
import type { AgentsService } from "propylon/plugins/agents";
import type { PayloadStore } from "propylon/plugins/payloads";

/** What agents are run with: of the config in force, so it changes while agents live. */
export interface Dependencies {
  readonly options: LifecycleOptions;
  readonly agents: AgentsService;
  /** Agents of the config that take contracts, the default one first. */
  readonly takers: readonly string[];
  readonly payloads: PayloadStore | undefined;
  readonly log: Logger;
}

/**
 * Agents of the config that take contracts, the default one first.
 *
 * @throws {GatewayError} `invalid` for a name that is not in the config
 */
export function takersOf(options: LifecycleOptions, agents: AgentsService): readonly string[] {
  const names = agents.list().map(({ name }) => name);
  if (options.agent === undefined) return names.slice(0, 1);
  const takers = [options.agent].flat();
  const unknown = takers.find((name) => !names.includes(name));
  if (unknown === undefined) return takers;
  throw new GatewayError(
    "invalid",
    `plugins.lifecycle.agent names "${unknown}", which is not an agent.`,
    { hint: `Agents: ${names.join(", ") || "none"}.`, data: { path: "plugins.lifecycle.agent" } },
  );
}
