import type { GatewayWarning, GatewayDescription } from "../plugin/description.ts";
import { listenerUrl } from "../http/allowed-hosts.ts";
import { isLoopback } from "../kit/addresses.ts";
import { chosen } from "../plugin/defaults.ts";
import { changeRefusal } from "../http/guard.ts";
import { warningsOf } from "../plugin/plugin-checks.ts";
import { leftOutText } from "../server/left-out.ts";
import type { Generation } from "./generation.ts";
import { unknownNamesOf } from "./unknown-names.ts";
import type { Address } from "../http/listeners.ts";
import type { Seat } from "./seat.ts";

/** Describes a generation, where it can be reached, and what its endpoints complain about. */
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
    authenticators: authenticatorsOf({ compiled }),
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
    warnings: [
      ...listenerWarnings(open, config),
      ...tokenWarnings(config),
      ...(generation.selectors.length === 0 ? [] : unknownNamesOf(generation)).map(
        ({ path, message, hint }) => ({
          code: "unknown_name" as const,
          message,
          path: path.map(String),
          hint,
        }),
      ),
      ...scopes.flatMap(({ checks }) => warningsOf(checks)),
      ...(seat ? warningsOf([seat.check]) : []),
      ...listWarnings(compiled),
      ...compiled.endpointServer.problems,
    ],
    readOnly: readOnlyOf(config),
    ...(seat && { workers: { own: seat.number, all: seat.status } }),
  };
}

/** What servers offer that clients cannot use, or some of them refuse. */
function listWarnings({ servers }: Pick<Generation["compiled"], "servers">): GatewayWarning[] {
  return [...servers.values()].flatMap(({ name, leftOut = [] }) => {
    const message = leftOutText(name, leftOut);
    if (message === undefined) return [];
    const hint = "Correct them at the server, or leave the tools out with tools.exclude.";
    return [{ code: "lists" as const, message, path: ["servers", name], hint }];
  });
}

/** Who is asked who makes a request, in order. */
export function authenticatorsOf({
  compiled,
}: Pick<Generation, "compiled">): GatewayDescription["authenticators"] {
  return compiled.authenticators.map(({ name, plugin }) => ({ name, plugin }));
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

function listenerWarnings(open: boolean, { listeners }: Generation["config"]): GatewayWarning[] {
  if (!open) return [];
  const exposed = Object.entries(listeners).filter(([, { host }]) => !isLoopback(host));
  return exposed.map(([name, { host }]) => ({
    code: "open_listener",
    message: `Listener "${name}" is reachable from other machines (${host}) and needs no credentials.`,
    path: ["listeners", name],
    hint: "Set auth.apiKey or auth.keys, add a plugin that authenticates, or bind 127.0.0.1.",
  }));
}

/** A token that its issuer made for another service would let its bearer in here (RFC 8725 sections 3.8 and 3.9). */
function tokenWarnings({ auth: { jwt } }: Generation["config"]): GatewayWarning[] {
  if (!jwt) return [];
  const missing = (["issuer", "audience"] as const).filter((key) => jwt[key] === undefined);
  const whose = { issuer: "of every issuer", audience: "for every audience" };
  return missing.map((key) => ({
    code: "any_token",
    message: `auth.jwt takes tokens ${whose[key]} that are signed with its key, those for other services too.`,
    path: ["auth", "jwt"],
    hint: `Set auth.jwt.${key} to the ${key === "issuer" ? "iss" : "aud"} of the tokens that are meant for this gateway.`,
  }));
}
