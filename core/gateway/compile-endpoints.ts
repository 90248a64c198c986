import { defaultListener } from "../http/listeners.ts";
import type { EndpointConfig, GatewayConfig } from "../config/schema.ts";
import type { ServerConfig } from "../config/server-schema.ts";
import { GatewayError } from "../errors.ts";
import type { CompiledEndpoint, EndpointContent } from "./endpoint-server.ts";
import type { Server } from "../server/server.ts";
import { matchesWildcard } from "../kit/wildcard.ts";

/**
 * Decides what every endpoint shows.
 *
 * @throws {GatewayError} `exists` for two plugins whose tools collide where names are not prefixed
 */
export function compileEndpoints(
  config: GatewayConfig,
  servers: ReadonlyMap<string, Server>,
  filters: Pick<EndpointContent, "shows" | "byPrincipal" | "isUnfiltered">,
): ReadonlyMap<string, CompiledEndpoint> {
  const selection = compileSelection(config.servers);
  const endpoints = new Map<string, CompiledEndpoint>();
  for (const [name, endpoint] of Object.entries(config.endpoints)) {
    const listener = endpoint.listener ?? defaultListener(config);
    const shown = shownServers(endpoint, servers);
    if (endpoint.naming === "none") checkCollisions(name, shown);
    endpoints.set(name, {
      listener,
      path: endpoint.path,
      content: { config: endpoint, servers: shown, selection, ...filters },
    });
  }
  return endpoints;
}

/** Those that the endpoint names, in its order, so that it decides who of two has a name; else all but those that stay apart. */
function shownServers(
  { servers: names }: EndpointConfig,
  servers: ReadonlyMap<string, Server>,
): Server[] {
  if (!names) return [...servers.values()].filter(({ isApart }) => isApart !== true);
  return [...new Set(names)].flatMap((name) => servers.get(name) ?? []);
}

/** Tools of upstreams come and go; those of plugins are known, and two of one name would hide each other. */
function checkCollisions(endpoint: string, shown: readonly Server[]): void {
  const owners = new Map<string, string>();
  for (const { name, status, catalogue } of shown) {
    if (status.transport !== "local") continue;
    for (const tool of catalogue.tools) {
      const other = owners.get(tool.name);
      if (other !== undefined) {
        throw new GatewayError(
          "exists",
          `Plugins "${other}" and "${name}" both have the tool "${tool.name}", and endpoint "${endpoint}" does not prefix names.`,
          {
            hint: `Set endpoints.${endpoint}.naming to auto or server.`,
          },
        );
      }
      owners.set(tool.name, name);
    }
  }
}

/** Which tools of which servers the config lets out, and under which prefix; servers it says nothing about are left out. */
export function compileSelection(
  servers: Readonly<Record<string, ServerConfig>>,
): EndpointContent["selection"] {
  const chosen = Object.entries(servers).filter(
    ([, { tools, prefix }]) => tools !== undefined || prefix !== undefined,
  );
  return new Map(
    chosen.map(([name, { tools, prefix }]) => [
      name,
      {
        prefix: prefix ?? name,
        accepts: (tool: string) =>
          (tools?.include?.some((pattern) => matchesWildcard(pattern, tool)) ?? true) &&
          !(tools?.exclude?.some((pattern) => matchesWildcard(pattern, tool)) ?? false),
      },
    ]),
  );
}
