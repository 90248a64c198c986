import { GatewayError, type PluginContext } from "propylon";
import type { AgentsService } from "propylon/plugins/agents";
import type { A2aOptions, SkillOptions } from "../options.ts";
import type { Skill } from "../skills.ts";
import type { Engine } from "../tasks/engine.ts";
import type { Conversations } from "../tasks/conversations.ts";
import { agentExecutor } from "./agent.ts";
import { commandExecutor } from "./command.ts";
import { functionExecutor } from "./function.ts";
import { ownSkill, type Executor } from "./own.ts";
import { toolSkill } from "./tool.ts";

/** The door that the plugin's setup got, and the agents, if there are any. */
export interface Door {
  readonly gateway: PluginContext<A2aOptions>;
  readonly agents: AgentsService | undefined;
  readonly engine: Engine;
  readonly conversations: Conversations;
  readonly workDir: string;
}

/**
 * The skills of the config, by id and in its order.
 *
 * @throws {GatewayError} `invalid` or `io_error` for one that cannot work, naming its place in the config
 */
export async function createSkills(door: Door): Promise<ReadonlyMap<string, Skill>> {
  const skills = new Map<string, Skill>();
  for (const options of door.gateway.config.skills)
    skills.set(options.id, await createSkill(door, options));
  return skills;
}

async function createSkill(door: Door, options: SkillOptions): Promise<Skill> {
  const { gateway, engine } = door;
  if (options.tool) return toolSkill(options, gateway.control);
  const executor = await createExecutor(door, options);
  const { tasks } = gateway.config;
  return ownSkill({
    gateway,
    options,
    executor,
    timeout: options.timeout ?? tasks.timeout,
    most: tasks.maxTaskSize,
    workOf: (key) => engine.workOf(key),
  });
}

async function createExecutor(door: Door, options: SkillOptions): Promise<Executor> {
  const { gateway, agents, conversations, workDir } = door;
  if (options.function !== undefined) return functionExecutor(options.function, gateway, workDir);
  if (options.command) return commandExecutor(options, workDir);
  if (agents)
    return agentExecutor({ options, agents, conversations, sessions: gateway.config.sessions });
  throw new GatewayError("invalid", `The skill "${options.id}" is an agent, and there are none.`, {
    hint: "Add agents to the config.",
    data: { path: "plugins.a2a.skills" },
  });
}
