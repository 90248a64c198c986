import type { GatewayDescription, GatewayWarning } from "../plugin/description.ts";
import { listenerUrl } from "../kit/addresses.ts";
import { chosen } from "../config/defaults.ts";
import { changeRefusal } from "../http/guard.ts";
import type { Generation } from "./generation.ts";
import type { Address } from "../http/listeners.ts";
import type { Seat } from "./seat.ts";

/** Where an MCP endpoint answers. */
export type EndpointAddress = Pick<
  GatewayDescription["endpoints"][number],
  "name" | "url" | "listener"
>;

/** What runs, with what is wrong with it. */
export interface Summary extends GatewayDescription {
  readonly warnings: readonly GatewayWarning[];
}

/** Describes a generation and where it can be reached. Asks no plugin, so a plugin may ask for it at any time. */
export function describeGateway(
  generation: Generation,
  addresses: ReadonlyMap<string, Address>,
  seat?: Seat,
): GatewayDescription {
  const { number, config, compiled, scopes } = generation;
  const { open, guard } = compiled;
  const urlOf = (listener: string): string =>
    addresses.get(listener)?.url ?? listenerUrl(config.listeners[listener]!);
  return {
    name: config.name,
    generation: number,
    listeners: Object.entries(config.listeners).map(([name, { tls }]) => ({
      name,
      url: urlOf(name),
      tls: tls !== undefined,
    })),
    endpoints: [...compiled.endpoints].map(([name, { listener, path, content }]) => ({
      name,
      url: `${urlOf(listener)}${path}`,
      listener,
      open,
      servers: content.servers.map((server) => server.name),
    })),
    servers: [...compiled.servers.values()].map(
      ({ name, status, catalogue: { tools, resources, resourceTemplates, prompts } }) => ({
        name,
        status,
        tools: tools.length,
        resources: resources.length + resourceTemplates.length,
        prompts: prompts.length,
      }),
    ),
    authenticators: compiled.authenticators.map(({ name, plugin }) => ({ name, plugin })),
    plugins: chosen(scopes).map(({ key, name, plugin }) => ({
      key,
      name,
      provides: plugin.provides?.id,
    })),
    routes: [...routesOf(compiled), ...socketsOf(compiled)].map(({ options, ...route }) => ({
      ...route,
      access: options.access,
      mutates: options.mutates,
      management: options.management === true,
      open: guard.isOpen(options),
    })),
    readOnly: readOnlyOf(config),
    ...(seat && { workers: { own: seat.number, all: seat.status } }),
  };
}

function readOnlyOf({ management }: Generation["config"]): GatewayDescription["readOnly"] {
  const refusal = changeRefusal({ management: true }, management);
  if (!refusal) return null;
  const { message, hint = "" } = refusal;
  const [scope, key] = management.readOnly
    ? (["everything", "readOnly"] as const)
    : (["management", "mutations"] as const);
  return { scope, message, hint, path: ["management", key] };
}

function routesOf({ routes }: Generation["compiled"]) {
  return [...routes].flatMap(([listener, table]) =>
    // Only the router wants a colon escaped where it does not begin a parameter.
    table.map(({ plugin, method, path: pattern, options }) => {
      const path = pattern.replaceAll("\\:", ":");
      return { plugin, listener, method, path, options };
    }),
  );
}

/** A WebSocket begins as a GET request. */
function socketsOf({ sockets }: Generation["compiled"]) {
  return [...sockets].flatMap(([listener, table]) =>
    [...table.values()].map(({ plugin, path, options }) => ({
      plugin,
      listener,
      method: "GET" as const,
      path,
      options,
      socket: true as const,
    })),
  );
}
