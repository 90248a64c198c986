import { toGatewayError, type GatewayInfo } from "propylon";
import { Checks } from "propylon/kit";
import { wordsOf } from "propylon/internal";
import type { ProgressService } from "propylon/plugins/progress";
import { Agent } from "../agent/agent.ts";
import { ChangeTimes } from "./change-times.ts";
import { createDriver, limitsOf, type Driven, type DriverInput } from "../agent/drivers.ts";
import type { Offers } from "../agent/offers.ts";
import type { AgentOptions, AgentsOptions } from "../options.ts";
import { orderByNeed } from "../order.ts";
import { placeAgent } from "./place.ts";
import { AgentServer } from "../agent/server.ts";
import type { Member } from "./team.ts";
import { AgentTools } from "../agent/agent-tools.ts";

/** What members are made with. */
export interface MembersInput {
  readonly gateway: DriverInput["gateway"];
  readonly config: AgentsOptions;
  readonly progress: ProgressService | undefined;
  readonly offers: Offers;
  readonly changes: ChangeTimes;
}

/**
 * The agents of a config, in its order. One whose definition is broken is there all the same and says what is wrong with it:
 * a gateway that does not start helps nobody who uses the others.
 */
export async function createMembers(input: MembersInput): Promise<ReadonlyMap<string, Member>> {
  const { agents } = input.config;
  const members = new Map<string, Member>();
  const needs = Object.entries(agents).map(([name, { dependsOn }]) => [name, dependsOn] as const);
  const ordered = orderByNeed(Object.fromEntries(needs));
  const order = "order" in ordered ? ordered.order : [];
  for (const name of order)
    members.set(name, await createMember(name, agents[name]!, members, input));
  return new Map(Object.keys(agents).map((name) => [name, members.get(name)!]));
}

async function createMember(
  name: string,
  options: AgentOptions,
  members: ReadonlyMap<string, Member>,
  { gateway, config, progress, offers, changes }: MembersInput,
): Promise<Member> {
  const toolOf = (agent: string): string | undefined => members.get(agent)?.agent.tool?.name;
  const tools = new AgentTools(name, options, gateway, toolOf);
  const driven = await tryToDrive(() => createDriver({ name, options, config, tools, gateway }));
  const { driver, model, source } =
    typeof driven === "string" ? { driver: driven, model: undefined, source: "" } : driven;
  if (typeof driven === "string")
    gateway.add(Checks, {
      name,
      ask: () => ({
        message: `The agent "${name}" cannot work: ${driven}`,
        path: ["plugins", "agents", "agents", name],
        hint: "Until then its calls are refused and its health is error.",
      }),
    });
  const agent = new Agent({
    name,
    options,
    driver,
    time: limitsOf(options, config).time,
    depth: config.maxDepth,
    obstacle: () => findObstacle(options, gateway.info, members),
    progress,
    log: gateway.log,
  });
  return {
    agent,
    server: new AgentServer(name, agent, offers, gateway.log),
    place: placeAgent(name, options),
    model,
    updatedAt: changes.timeOf(name, [options, config.model, config.limits, source]),
  };
}

/** What drives an agent, or why nothing does. */
async function tryToDrive(create: () => Promise<Driven>): Promise<Driven | string> {
  try {
    return await create();
  } catch (thrown) {
    return wordsOf(toGatewayError(thrown));
  }
}

/** Why an agent cannot work just now: something that it depends on is down. */
function findObstacle(
  { dependsOn, server }: AgentOptions,
  { servers }: Pick<GatewayInfo, "servers">,
  members: ReadonlyMap<string, Member>,
): string | undefined {
  for (const name of server === undefined ? dependsOn : [server, ...dependsOn]) {
    const problem = members.get(name)?.agent.problem;
    if (problem !== undefined)
      return `It depends on the agent "${name}", which cannot work: ${problem}`;
    const status = servers.get(name)?.status;
    if (!status) return `It depends on "${name}", which is not there.`;
    if (status.state === "ready" || status.state === "idle" || status.state === "degraded")
      continue;
    // The state alone: the reason may quote a child's standard error, and callers read this.
    return `It depends on "${name}", which is not available (${status.state}).`;
  }
  return undefined;
}
