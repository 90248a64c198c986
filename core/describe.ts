import { isLoopback } from "./compile.ts";
import type { Generation } from "./generation.ts";
import type { Access, RouteMethod } from "./plugin.ts";
import type { ProviderStatus } from "./provider.ts";
import type { Address } from "./sockets.ts";

/** What runs, as data: for a start-up summary, a status page, or a test. */
export interface GatewayDescription {
  readonly name: string;
  readonly generation: number;
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
    /** Whether it answers without credentials. */
    readonly open: boolean;
  }[];
  /** Sentences that someone who runs this should read. */
  readonly warnings: readonly string[];
}

/** Describes a generation, where it can be reached, and what its endpoints complain about. */
export function describeGateway(
  { number, config, compiled, scopes }: Generation,
  addresses: ReadonlyMap<string, Address>,
  problems: readonly string[],
): GatewayDescription {
  const { open } = compiled;
  return {
    name: config.name,
    generation: number,
    endpoints: [...compiled.endpoints].map(([name, { listener, path, content }]) => ({
      name,
      url: `${addresses.get(listener)?.url ?? plannedUrl(config.listeners[listener]!)}${path}`,
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
    routes: [...compiled.routes].flatMap(([listener, routes]) =>
      routes.map(({ plugin, method, path, options: { access, mutates } }) => ({
        plugin,
        listener,
        method,
        path,
        access,
        mutates,
        open: open || access === "public",
      })),
    ),
    warnings: [...warningsOf(open, config), ...problems],
  };
}

/** Where a listener will be, for a summary before it is open. */
function plannedUrl({ host, port, tls }: Generation["config"]["listeners"][string]): string {
  return `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function warningsOf(open: boolean, { listeners }: Generation["config"]): string[] {
  if (!open) return [];
  const exposed = Object.entries(listeners).filter(([, { host }]) => !isLoopback(host));
  return exposed.map(
    ([name, { host }]) =>
      `Listener "${name}" is reachable from other machines (${host}) and asks nobody who they are.`,
  );
}
