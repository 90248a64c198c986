import { GatewayError, type PluginContext } from "propylon";
import type { Files } from "propylon/kit";
import type { AgentsService } from "propylon/plugins/agents";
import type { A2aOptions, SkillOptions } from "../options.ts";
import type { Skill } from "../tasks/task/skills.ts";
import type { RequestHandler } from "../tasks/request-handler.ts";
import type { Conversations } from "../tasks/conversations.ts";
import { agentExecutor } from "./agent.ts";
import { commandExecutor } from "./command.ts";
import { functionExecutor } from "./function.ts";
import { ownSkill, type AgentExecutor } from "./skill-tools.ts";
import { toolSkill } from "./tool.ts";

/** What executors are made with. */
export interface ExecutorDependencies {
  readonly gateway: PluginContext<A2aOptions>;
  readonly files: Files;
  readonly agents: AgentsService | undefined;
  readonly handler: RequestHandler;
  readonly conversations: Conversations;
  readonly workDir: string;
}

/**
 * The skills of the config, by id and in its order.
 *
 * @throws {GatewayError} `invalid` or `io_error` for one that cannot work, naming its place in the config
 */
export async function createSkills(
  dependencies: ExecutorDependencies,
): Promise<ReadonlyMap<string, Skill>> {
  const skills = new Map<string, Skill>();
  for (const options of dependencies.gateway.config.skills)
    skills.set(options.id, await createSkill(dependencies, options));
  return skills;
}

async function createSkill(
  dependencies: ExecutorDependencies,
  options: SkillOptions,
): Promise<Skill> {
  const { gateway, handler } = dependencies;
  if (options.tool) return toolSkill(options, gateway.info);
  const executor = await createExecutor(dependencies, options);
  const { tasks } = gateway.config;
  return ownSkill({
    gateway,
    options,
    executor,
    timeout: options.timeout ?? tasks.timeout,
    most: tasks.maxTaskSize,
    workOf: (key) => handler.workOf(key),
  });
}

async function createExecutor(
  dependencies: ExecutorDependencies,
  options: SkillOptions,
): Promise<AgentExecutor> {
  const { gateway, files, agents, conversations, workDir } = dependencies;
  if (options.function !== undefined)
    return functionExecutor(options.function, gateway, files, workDir);
  if (options.command) return commandExecutor(options, workDir);
  if (agents)
    return agentExecutor({ options, agents, conversations, sessions: gateway.config.sessions });
  throw new GatewayError("invalid", `The skill "${options.id}" is an agent, and there are none.`, {
    hint: "Add agents to the config.",
    data: { path: "plugins.a2a.skills" },
  });
}
