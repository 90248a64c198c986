import { GatewayError, type Call, type PluginContext, type Service } from "propylon";
import { type Audit, traceOf } from "propylon/kit";
import type { ManagedAgent } from "./record/agent.ts";
import { NOT_FOUND, endingOf, payloadOf, startedOf, agentStatusOf } from "./run/report.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { LifecycleOptions } from "./options.ts";
import {
  agentIdSchema,
  APPEND_WORDS,
  appendedSchema,
  appendSchema,
  completeSchema,
  contractSchema,
  endedSchema,
  idsSchema,
  startedSchema,
  statusesSchema,
} from "./schemas.ts";

/** What the tools work with. */
type LifecycleContext = PluginContext<LifecycleOptions, { readonly audit: Service<Audit> }>;

/** `agent_start`, `agent_status`, `agent_complete`, `agent_stop`, `append_payload`. */
export function registerTools(
  gateway: LifecycleContext,
  lifecycle: Lifecycle,
  hasPayloads: boolean,
): void {
  registerStart(gateway, lifecycle);
  registerStatus(gateway, lifecycle);
  registerEnds(gateway, lifecycle, hasPayloads);
  if (hasPayloads) registerAppend(gateway, lifecycle);
}

function registerStart(gateway: LifecycleContext, lifecycle: Lifecycle): void {
  gateway.tool("agent_start", {
    title: "Start an agent",
    description:
      "Starts an agent on a contract and returns at once. Ask agent_status how it is doing. Status `ready`: it starts when there is a place.",
    input: contractSchema([gateway.config.agent ?? []].flat()),
    output: startedSchema,
    async run({ contract, agent: name }, call) {
      const agent = lifecycle.create({
        contract,
        name: chosen(name, lifecycle.dependencies.takers),
        owner: call.principal,
        start: true,
        meta: traceOf(call.meta ?? {}),
      });
      await agent.stored;
      gateway.services.audit("start", targetOf(agent), undefined, call);
      return startedOf(agent);
    },
  });
}

function registerStatus(gateway: LifecycleContext, lifecycle: Lifecycle): void {
  gateway.tool("agent_status", {
    title: "Agents' status",
    description: "Tells how agents are doing, in the order of the ids.",
    input: idsSchema,
    output: statusesSchema,
    annotations: { readOnlyHint: true },
    async run({ agent_ids }, { principal }) {
      const { replicas, dependencies } = lifecycle;
      const look = async (id: string): Promise<object> => {
        const agent = lifecycle.find(id, principal);
        if (agent) return agentStatusOf(agent, dependencies);
        const told = await replicas?.ask(id, principal, "look");
        return told?.status ?? { agent_id: id, error: NOT_FOUND };
      };
      const agents = await Promise.all(agent_ids.map((id) => look(id)));
      // The source answers a list, MCP demands an object: the text is the one, the structure the other.
      return {
        content: [{ type: "text", text: JSON.stringify(agents) }],
        structuredContent: { agents },
      };
    },
  });
}

function registerEnds(gateway: LifecycleContext, lifecycle: Lifecycle, hasPayloads: boolean): void {
  gateway.tool("agent_complete", {
    title: "Complete an agent's contract",
    description:
      "Completes an agent's contract. Called by the agent itself to say that it is done.",
    input: completeSchema(hasPayloads),
    output: endedSchema,
    annotations: { idempotentHint: true },
    async run({ agent_id, summary, payload }, call) {
      const agent = found(lifecycle, agent_id, call);
      const ends = await lifecycle.complete(agent, summary, payload);
      if (ends) gateway.services.audit("complete", targetOf(agent), undefined, call);
      return endingOf(agent, !ends);
    },
  });
  gateway.tool("agent_stop", {
    title: "Stop an agent",
    description: "Stops an agent: what it asked its model already ends, it asks nothing more.",
    input: agentIdSchema,
    output: endedSchema,
    annotations: { idempotentHint: true, destructiveHint: true },
    async run({ agent_id }, call) {
      const agent = lifecycle.find(agent_id, call.principal);
      const told = agent
        ? undefined
        : await lifecycle.replicas?.ask(agent_id, call.principal, "cancel");
      if (told) {
        if (!told.already) gateway.services.audit("stop", told.target, undefined, call);
        return told.ending;
      }
      const own = found(lifecycle, agent_id, call);
      const ends = await lifecycle.stop(own);
      if (ends) gateway.services.audit("stop", targetOf(own), undefined, call);
      return endingOf(own, !ends);
    },
  });
}

function registerAppend(gateway: LifecycleContext, lifecycle: Lifecycle): void {
  gateway.tool("append_payload", {
    title: "Append to an agent's payload",
    description: APPEND_WORDS,
    input: appendSchema,
    output: appendedSchema,
    async run({ agent_id, payload }, call) {
      const agent = found(lifecycle, agent_id, call);
      const added = await lifecycle.append(agent, payload);
      return payloadOf(agent, lifecycle.dependencies.payloads, !added);
    },
  });
}

/** What the audit says an action was about: a user of somebody else's agents is not the one who owns them. */
export function targetOf({ id, name, owner }: ManagedAgent): Readonly<Record<string, string>> {
  return { agent: id, name, owner: owner.ref };
}

/**
 * The agent of the config that takes a contract.
 *
 * @throws {GatewayError} `not_found` when the config has none; `invalid` for one that takes no contracts
 */
export function chosen(wanted: string | undefined, takers: readonly string[]): string {
  const name = wanted ?? takers[0];
  if (name === undefined)
    throw new GatewayError("not_found", "No agent is configured.", {
      hint: "Agents are under `agents` in the config.",
    });
  if (takers.includes(name)) return name;
  throw new GatewayError("invalid", `The agent "${name}" does not accept contracts.`, {
    hint: `Those that do: ${takers.join(", ")}.`,
  });
}

/** @throws {GatewayError} `not_found` */
function found(lifecycle: Lifecycle, id: string, { principal }: Call): ManagedAgent {
  const agent = lifecycle.find(id, principal);
  if (agent) return agent;
  throw new GatewayError("not_found", `${NOT_FOUND}.`);
}
