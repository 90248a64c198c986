import type { PluginContext, Server, RouteEvent } from "propylon";
import { admits } from "propylon/kit";
import type { AgentsService } from "propylon/plugins/agents";
import type { GatewayHealth } from "./health.ts";
import type { ModelHealth } from "./models.ts";
import type { HealthOptions } from "./options.ts";

/** What the routes show. */
export interface HealthSources {
  readonly health: GatewayHealth;
  readonly agents: AgentsService | undefined;
  /** ISO 8601 of the moment since which the config in force is in force. */
  readonly lastReload: () => string;
}

/** `GET /healthz` for probes and people, `GET /_meta/health` with every reason for those who run the gateway. */
export function registerRoutes(gateway: PluginContext<HealthOptions>, shown: HealthSources): void {
  const { path, access } = gateway.config;
  gateway.route("GET", path, { access, mutates: false }, (event) => page(gateway, shown, event));
  gateway.route(
    "GET",
    "/_meta/health",
    { access: "viewer", mutates: false, management: true },
    (event) => details(gateway, shown, event),
  );
}

/** Health of servers, agents and models. Always 200: what is wrong behind the gateway must not get it restarted. Reasons are for viewers. */
async function page(
  gateway: PluginContext<HealthOptions>,
  { health, lastReload }: HealthSources,
  event: RouteEvent,
): Promise<object> {
  noStore(event);
  const { status, message } = await health.ofGateway();
  const mayKnow = isViewer(event);
  const model = worst(health.models);
  return {
    status,
    ...(mayKnow && message !== undefined && { message }),
    generation: gateway.info.generation,
    lastReload: lastReload(),
    servers: Object.fromEntries(upstreams(gateway).map((server) => [server.name, view(server)])),
    llm: model && viewOf(model, mayKnow),
  };
}

async function details(
  gateway: PluginContext<HealthOptions>,
  { health, agents, lastReload }: HealthSources,
  event: RouteEvent,
): Promise<object> {
  noStore(event);
  const report = await health.ofGateway();
  const names = (agents?.list() ?? []).map(({ name }) => name);
  const reports = names.map(async (name) => [name, await health.ofAgent(name)] as const);
  return {
    ok: true,
    health: report,
    generation: gateway.info.generation,
    lastReload: lastReload(),
    agents: Object.fromEntries(await Promise.all(reports)),
    servers: Object.fromEntries(
      upstreams(gateway).map((server) => {
        const { name } = server;
        return [name, { ...view(server), ...health.ofServer(name) }];
      }),
    ),
    models: health.models,
  };
}

function upstreams({ info }: Pick<PluginContext, "info">): Server[] {
  return [...info.servers.values()].filter(({ status }) => status.transport !== "local");
}

function view({ status: { state, transport } }: Server): object {
  return { connected: state === "ready" || state === "degraded", type: transport };
}

/** There is one place and there may be many models: the one that is worst off. */
function worst(models: readonly ModelHealth[]): ModelHealth | null {
  const order = ["error", "unknown", "ok"] as const;
  for (const status of order) {
    const found = models.find((model) => model.status === status);
    if (found) return found;
  }
  return null;
}

function viewOf(model: ModelHealth, mayKnow: boolean): object {
  const { provider, model: name, status, checkedAt, message } = model;
  return {
    provider,
    model: name,
    status,
    checkedAt,
    ...(mayKnow && message !== undefined && { message }),
  };
}

function isViewer({ context }: RouteEvent): boolean {
  return admits(context.principal, "viewer");
}

function noStore({ res }: RouteEvent): void {
  res.headers.set("cache-control", "no-store");
}
