import type { PluginContext, RouteEvent } from "propylon";
import { admits, checkInput, pathParameter, VERSION } from "propylon/kit";
import { z } from "zod";
import type { AdminContext, Administration } from "./administration.ts";

const tailSchema = z.strictObject({
  lines: z.coerce.number().int().min(1).max(1_000).default(200),
});

const READ = { access: "viewer", mutates: false, management: true } as const;

/** A server in `GET /_meta/servers/:server`. */
export type ServerDetails = ReturnType<typeof describe>;
/** An MCP endpoint in `GET /_meta`. */
export type EndpointView = ReturnType<typeof endpoints>[number];
/** An MCP endpoint in `GET /_meta/servers/:server/tools/:tool/names`, with what the tool is called there. */
export type ToolNameView = ReturnType<typeof namesOf>[number];

/** What is there: servers, their tools, and the management API itself. */
export function serverRoutes(gateway: AdminContext, administration: Administration): void {
  gateway.route("GET", "/_meta", READ, () => ({
    ok: true,
    authenticators: authenticators(gateway),
    endpoints: endpoints(gateway),
    routes: managementRoutes(gateway),
  }));
  gateway.route("GET", "/_meta/version", READ, () => ({ ok: true, ...version(gateway) }));
  gateway.route("GET", "/_meta/servers", READ, ({ context }) => ({
    ok: true,
    servers: administration.servers(context.principal),
  }));
  gateway.route("GET", "/_meta/servers/:server", READ, (event) => ({
    ok: true,
    server: describe(gateway, administration, event),
  }));
  gateway.route("GET", "/_meta/servers/:server/tools", READ, (event) => {
    const server = pathParameter(event, "server");
    return { ok: true, server, tools: administration.tools(server, event.context.principal) };
  });
  gateway.route("GET", "/_meta/servers/:server/tools/:tool/names", READ, (event) => ({
    ok: true,
    endpoints: namesOf(gateway, administration, event),
  }));
  gateway.route("GET", "/_meta/servers/:server/resources", READ, (event) => {
    const server = pathParameter(event, "server");
    return { ok: true, server, resources: administration.resources(server) };
  });
  gateway.route("GET", "/_meta/servers/:server/prompts", READ, (event) => {
    const server = pathParameter(event, "server");
    return { ok: true, server, prompts: administration.prompts(server) };
  });
  gateway.route("GET", "/_meta/servers/:server/stderr", { ...READ, access: "operator" }, (event) =>
    stderrOf(gateway, administration, event),
  );
}

/** One server, for operators with its entry in the config, secrets masked. */
function describe(gateway: AdminContext, administration: Administration, event: RouteEvent) {
  const name = pathParameter(event, "server");
  const { principal } = event.context;
  const view = administration.server(name, principal);
  // No mask knows every secret, so those who only look on see no entry at all.
  const config = admits(principal, "operator")
    ? gateway.services.management.serverConfig(name)
    : undefined;
  return { ...view, config: config ?? null };
}

/** What a tool is called at each MCP endpoint that the asker may use. */
function namesOf(gateway: AdminContext, administration: Administration, event: RouteEvent) {
  const server = pathParameter(event, "server");
  administration.find(server);
  const tool = pathParameter(event, "tool");
  const found = gateway.services.management.endpointNames(server, tool, event.context.principal);
  const names = new Map(found.map(({ endpoint, name }) => [endpoint, name]));
  return endpoints(gateway).flatMap((endpoint) => {
    const name = names.get(endpoint.name);
    return name === undefined ? [] : [{ ...endpoint, tool: name }];
  });
}

/** What its child wrote last; of a server that has none, or that the config leaves out, nothing. */
function stderrOf(
  { info, services }: AdminContext,
  administration: Administration,
  event: RouteEvent,
): object {
  const server = pathParameter(event, "server");
  const { lines } = checkInput(Object.fromEntries(event.url.searchParams), tailSchema);
  administration.server(server, event.context.principal);
  const tail = info.servers.has(server) ? services.management.tail(server, lines) : undefined;
  return { ok: true, server, available: tail !== undefined, lines: tail ?? [] };
}

function version({ info }: PluginContext): object {
  const { name, workers } = info.describe();
  return {
    name,
    version: VERSION,
    generation: info.generation,
    node: process.versions.node,
    ...(workers && { workers }),
  };
}

/** The MCP endpoints, as their paths: only who asks knows under which host. */
function endpoints({ info }: PluginContext) {
  return info.describe().endpoints.map(({ name, url, open, servers, listener }) => ({
    name,
    path: new URL(url).pathname,
    listener,
    open,
    servers,
  }));
}

/** Who is asked who makes a request, in order. */
function authenticators({ info }: PluginContext): object[] {
  return info
    .describe()
    .authenticators.map(({ name, plugin }) => ({ name, plugin: plugin ?? null }));
}

/** The management routes of every plugin, with what each takes: the catalogue as it runs. */
function managementRoutes({ info }: PluginContext): object[] {
  return info
    .describe()
    .routes.filter(({ path }) => path.startsWith("/_meta"))
    .map(({ method, path, access, mutates, plugin }) => ({ method, path, access, mutates, plugin }))
    .toSorted((a, b) => `${a.path} ${a.method}`.localeCompare(`${b.path} ${b.method}`));
}
