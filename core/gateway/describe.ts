import { isLoopback } from "../http/loopback.ts";
import type { Generation } from "./generation.ts";
import type { Access, RouteMethod } from "../http/route.ts";
import type { ProviderStatus } from "../server/server.ts";
import type { Address } from "../http/listeners.ts";

/** Something that works but that whoever runs the gateway should know. Holds no secret. */
export interface GatewayWarning {
  /**
   * `open_listener`: reachable from other machines without authentication; `any_token`: tokens of others are taken too; `left_out`: an endpoint does not show something;
   * `plugin`: a plugin says so.
   */
  readonly code: "open_listener" | "any_token" | "left_out" | "plugin";
  /** A sentence. */
  readonly message: string;
  /** The place in the config it is about, e.g. `["endpoints", "mcp"]`. */
  readonly path: readonly string[];
  /** What to do about it, as a sentence. */
  readonly hint: string;
}

/** What runs, as data: for a start-up summary, a status page, or a test. */
export interface GatewayDescription {
  readonly name: string;
  readonly generation: number;
  readonly listeners: readonly {
    readonly name: string;
    readonly url: string;
    /** Whether it speaks TLS with a certificate of its own (M005). */
    readonly tls: boolean;
  }[];
  readonly endpoints: readonly {
    readonly name: string;
    readonly url: string;
    readonly listener: string;
    /** Whether anyone who reaches the listener may use it. */
    readonly open: boolean;
    readonly servers: readonly string[];
  }[];
  readonly servers: readonly {
    readonly name: string;
    readonly status: ProviderStatus;
    readonly tools: number;
    readonly resources: number;
    readonly prompts: number;
  }[];
  readonly plugins: readonly {
    readonly key: string;
    readonly name: string;
    readonly provides: string | undefined;
  }[];
  readonly routes: readonly {
    readonly plugin: string;
    readonly listener: string;
    readonly method: RouteMethod;
    readonly path: string;
    readonly access: Access;
    readonly mutates: boolean;
    /** Whether it belongs to the management of the gateway. */
    readonly management: boolean;
    /** Whether it answers without credentials. */
    readonly open: boolean;
    /** Set for a path that accepts WebSocket connections. */
    readonly socket?: true;
  }[];
  readonly warnings: readonly GatewayWarning[];
}

/** Describes a generation, where it can be reached, and what its endpoints complain about. */
export function describeGateway(
  { number, config, compiled, scopes }: Generation,
  addresses: ReadonlyMap<string, Address>,
  problems: readonly GatewayWarning[],
): GatewayDescription {
  const { open, guard } = compiled;
  const urlOf = (listener: string): string =>
    addresses.get(listener)?.url ?? plannedUrl(config.listeners[listener]!);
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
      servers: content.providers.map((provider) => provider.name),
    })),
    servers: [...compiled.providers.values()].map(
      ({ name, status, catalogue: { tools, resources, resourceTemplates, prompts } }) => ({
        name,
        status,
        tools: tools.length,
        resources: resources.length + resourceTemplates.length,
        prompts: prompts.length,
      }),
    ),
    plugins: scopes.map(({ key, name, plugin }) => ({ key, name, provides: plugin.provides?.id })),
    routes: [...routesOf(compiled), ...socketsOf(compiled)].map(({ options, ...route }) => ({
      ...route,
      access: options.access,
      mutates: options.mutates,
      management: options.management === true,
      open: guard.isOpen(options),
    })),
    warnings: [
      ...warningsOf(open, config),
      ...tokenWarnings(config),
      ...scopes.flatMap((scope) => scope.warnings),
      ...problems,
    ],
  };
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

/** Where a listener will be, for a summary before it is open. */
function plannedUrl({ host, port, tls }: Generation["config"]["listeners"][string]): string {
  return `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function warningsOf(open: boolean, { listeners }: Generation["config"]): GatewayWarning[] {
  if (!open) return [];
  const exposed = Object.entries(listeners).filter(([, { host }]) => !isLoopback(host));
  return exposed.map(([name, { host }]) => ({
    code: "open_listener",
    message: `Listener "${name}" is reachable from other machines (${host}) and asks nobody who they are.`,
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
