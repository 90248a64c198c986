import type { GatewayWarning } from "../plugin/description.ts";
import { Endpoint } from "./endpoint.ts";
import type { EndpointHost, EndpointContent } from "./host.ts";
import type { NodeHandler } from "../http/app.ts";
import type { Principal } from "../call/types.ts";
import { defaultListener } from "../http/listeners.ts";
import type { EndpointConfig, GatewayConfig } from "../config/schema.ts";
import type { ServerConfig } from "../config/server-schema.ts";
import { GatewayError } from "../errors.ts";
import type { Server } from "../server/server.ts";
import { matchesWildcard } from "../kit/wildcard.ts";

/** One living MCP endpoint and where it is. */
interface Face {
  readonly endpoint: Endpoint;
  readonly listener: string;
  readonly path: string;
}

/** The gateway's MCP endpoints. They live through reloads, so that no session and no stream is lost. */
export class Endpoints {
  readonly #host: EndpointHost;
  #faces = new Map<string, Face>();

  constructor(host: EndpointHost) {
    this.#host = host;
  }

  /** Shows the new content, opens endpoints that are new and closes those that are gone. */
  update(endpoints: ReadonlyMap<string, CompiledEndpoint>): void {
    const old = this.#faces;
    this.#faces = new Map();
    for (const [name, { listener, path, content }] of endpoints) {
      const endpoint = old.get(name)?.endpoint ?? new Endpoint(name, this.#host);
      endpoint.update(content);
      this.#faces.set(name, { endpoint, listener, path });
    }
    for (const [name, { endpoint }] of old) if (!this.#faces.has(name)) endpoint.close();
  }

  /** Builds every endpoint's lists anew and tells clients what differs. */
  relist(): void {
    for (const { endpoint } of this.#faces.values()) endpoint.relist();
  }

  /** What endpoints leave out of their lists, and why. */
  get problems(): readonly GatewayWarning[] {
    return [...this.#faces].flatMap(([name, { endpoint }]) =>
      endpoint.problems.map((problem) => ({
        code: "left_out" as const,
        message: `Endpoint "${name}": ${problem}`,
        path: ["endpoints", name],
        hint: "Rename what is yours; else set prefix or tools.exclude of the server, or naming of the endpoint.",
      })),
    );
  }

  /** Handlers of the endpoints on one listener, by path. */
  handlersOf(listener: string): ReadonlyMap<string, NodeHandler> {
    const here = [...this.#faces.values()].filter((face) => face.listener === listener);
    return new Map(here.map(({ path, endpoint }) => [path, endpoint.handle]));
  }

  /** Ends the sessions that matching principals opened; tells how many that were. */
  revoke(match: (principal: Principal) => boolean): number {
    let count = 0;
    for (const { endpoint } of this.#faces.values()) count += endpoint.revoke(match);
    return count;
  }

  /** Ends every session and stream. */
  close(): void {
    for (const { endpoint } of this.#faces.values()) endpoint.close();
    this.#faces.clear();
  }
}

/** One MCP endpoint of a generation. */
export interface CompiledEndpoint {
  readonly listener: string;
  readonly path: string;
  readonly content: EndpointContent;
}

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
