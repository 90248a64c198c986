import { GatewayError, type PluginContext, type RouteEvent } from "propylon";
import { checkInput, readJson, traceOf } from "propylon/kit";
import { z } from "zod";
import type { ManagedAgent } from "./record/agent.ts";
import type { ToldAgent } from "./replicas/replica-agents.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { LifecycleOptions } from "./options.ts";
import { endingOf, NOT_FOUND, startedOf, agentStatusOf } from "./run/report.ts";
import { registerPanels } from "./panels.ts";
import { bodySchemas } from "./schemas.ts";
import { chosen, targetOf } from "./tools.ts";

const READ = { access: "caller", mutates: false } as const;
const CHANGE = { access: "caller", mutates: true } as const;

const querySchema = z.strictObject({
  status: z.enum(["ready", "running", "stopped", "completed"]).optional(),
  limit: z.coerce.number().int().min(1).max(10_000).default(1_000),
});
const keySchema = z.string().min(1).max(255).optional();

/** The same agents over HTTP. What goes well is answered in the shapes of the tools. */
export function registerRoutes(
  gateway: PluginContext<LifecycleOptions>,
  lifecycle: Lifecycle,
): void {
  registerAll(gateway, lifecycle);
  registerOne(gateway, lifecycle);
  registerEnds(gateway, lifecycle);
  registerPanels(gateway);
}

/** Routes of the agents together: a new one, and the list. */
function registerAll(gateway: PluginContext<LifecycleOptions>, lifecycle: Lifecycle): void {
  gateway.route("POST", "/api/agents", CHANGE, async (event) => {
    const { contract, agent: name, start } = await readJson(event, bodySchemas.create);
    const key = checkInput(event.req.headers.get("idempotency-key") ?? undefined, keySchema);
    const owner = event.context.principal;
    const agent = lifecycle.create({
      contract,
      name: chosen(name, lifecycle.dependencies.takers),
      owner,
      start,
      key,
      meta: traceOf(event.req.headers),
    });
    event.context.target = targetOf(agent);
    await agent.stored;
    return Response.json(startedOf(agent), {
      status: 201,
      headers: { location: `/api/agents/${agent.id}` },
    });
  });
  gateway.route("GET", "/api/agents", READ, ({ url, context }) => {
    const { status, limit } = checkInput(Object.fromEntries(url.searchParams), querySchema);
    const agents = lifecycle
      .list(context.principal)
      .filter((agent) => status === undefined || agent.status === status);
    const latest = agents.slice(-limit).toReversed();
    return { agents: latest.map((agent) => agentStatusOf(agent, lifecycle.dependencies)) };
  });
}

function registerOne(gateway: PluginContext<LifecycleOptions>, lifecycle: Lifecycle): void {
  gateway.route("GET", "/api/agents/:id", READ, async (event) => {
    const agent = find(lifecycle, event);
    if (!agent) {
      const { status, contract, output, target } = await foundAtReplica(lifecycle, event, "look");
      return { ...status, agent: target["name"], contract, output };
    }
    const { name, contract, output } = agent;
    return {
      ...agentStatusOf(agent, lifecycle.dependencies),
      agent: name,
      contract,
      output: output.text,
    };
  });
  gateway.route("POST", "/api/agents/:id/start", CHANGE, async (event) => {
    const agent = found(lifecycle, event);
    const starts = await lifecycle.start(agent);
    if (agent.isOver)
      throw new GatewayError("exists", `The agent is ${agent.status} already.`, {
        hint: "Make a new one.",
      });
    return { ...startedOf(agent), ...(!starts && { already: true }) };
  });
  gateway.route("DELETE", "/api/agents/:id", CHANGE, async (event) => {
    await lifecycle.delete(found(lifecycle, event));
    return new Response(null, { status: 204 });
  });
}

function registerEnds(gateway: PluginContext<LifecycleOptions>, lifecycle: Lifecycle): void {
  gateway.route("POST", "/api/agents/:id/stop", CHANGE, async (event) => {
    const agent = find(lifecycle, event);
    if (agent) return endingOf(agent, !(await lifecycle.stop(agent)));
    return (await foundAtReplica(lifecycle, event, "cancel")).ending;
  });
  gateway.route("POST", "/api/agents/:id/complete", CHANGE, async (event) => {
    const agent = found(lifecycle, event);
    const { summary, payload } = await readJson(event, bodySchemas.complete);
    return endingOf(agent, !(await lifecycle.complete(agent, summary, payload)));
  });
}

/** One of this replica. @throws {GatewayError} `not_found` */
function found(lifecycle: Lifecycle, event: RouteEvent): ManagedAgent {
  const agent = find(lifecycle, event);
  if (agent) return agent;
  throw new GatewayError("not_found", `${NOT_FOUND}.`);
}

function find(lifecycle: Lifecycle, { context }: RouteEvent): ManagedAgent | undefined {
  return lifecycle.find(context.params?.["id"] ?? "", context.principal);
}

/** @throws {GatewayError} `not_found`, `unavailable` */
async function foundAtReplica(
  { replicas }: Lifecycle,
  { context }: RouteEvent,
  verb: "look" | "cancel",
): Promise<ToldAgent> {
  const told = await replicas?.ask(context.params?.["id"] ?? "", context.principal, verb);
  if (told) return told;
  throw new GatewayError("not_found", `${NOT_FOUND}.`);
}
