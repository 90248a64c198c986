import type { Call } from "../call/call.ts";
import type { Logger } from "pino";
import type { Leases } from "./leases.ts";
import type { Answer } from "../call/answer.ts";
import type { GatewayConfig, EndpointConfig } from "../config/schema.ts";
import type { Abortion } from "../call/pipeline.ts";
import type { GatewayHooks } from "./hooks.ts";
import type { Listed, PrincipalFilters } from "./filters.ts";
import type { Backlog } from "../kit/backlog.ts";
import type { Server } from "../call/server.ts";
import { defineService, type Service } from "../kit/service.ts";
import type { Store } from "../store/store.ts";
import type { Json, Principal } from "../kit/types.ts";
import type { NodeHandler } from "./route.ts";
import type { GatewayWarning } from "./description.ts";
import { definePoint, type Point } from "./point.ts";

/**
 * One generation of the gateway, as far as its calls go.
 *
 * @example
 * const runner: CallRunner = host.current;
 * const answer = await runner.call(call);
 */
export interface CallRunner {
  /** Runs a call through its pipeline. */
  call(call: Call): Promise<Answer>;
  /**
   * Counts something as in flight that is not in any pipeline at the moment; a shutdown or reload waits for it and may abort it.
   * @returns ends that
   */
  hold(work: Abortion): () => void;
  /** What a plugin of this generation provides. Endpoints outlive plugins, so they look each time. */
  service<T>(service: Service<T>): T | undefined;
}

/**
 * What endpoints need from the gateway around them.
 *
 * @example definePlugin({ name: "faces", inject: { host: EndpointHost }, setup });
 */
export interface EndpointHost {
  /** `name` and `version` shown to clients. */
  readonly serverInfo: Json;
  readonly log: Logger;
  readonly limits: GatewayConfig["limits"];
  /** Longest run of a call by default, in milliseconds. */
  readonly callTimeout: number;
  /** True from SIGTERM on: new work is answered 503, calls in flight go on. */
  readonly draining: boolean;
  /** The current generation. A call that takes several turns stays with the one it began in. */
  readonly current: CallRunner;
  /** What is open on whose credential. */
  readonly leases: Leases;
  /** What clients asked for and do not read. */
  readonly backlog: Backlog;
  /** The store, as the plugin that serves the endpoints has it. */
  readonly store: Store;
  emit<K extends keyof GatewayHooks>(name: K, ...args: Parameters<GatewayHooks[K]>): void;
}

/**
 * The service that every gateway has; see the interface. A plugin that has it makes calls in the name of anybody, as a face does: it is as
 * much power over what a gateway serves as {@link Management} is over the gateway.
 */
export const EndpointHost: Service<EndpointHost> = defineService("endpoint-host");

/**
 * What an endpoint shows, handed to it again by every reload; the endpoint itself, with its sessions and streams, lives on.
 *
 * @example const names = (content: EndpointContent) => content.servers.map(({ name }) => name);
 */
export interface EndpointContent {
  readonly config: EndpointConfig;
  /** Servers selected for this endpoint: those of the config in its order, then those of plugins. */
  readonly servers: readonly Server[];
  /** Whether no filter of a plugin has a say: the same servers then show the same. */
  readonly isUnfiltered?: boolean;
  /** Whether the plugins' filters show something to anyone. */
  shows(item: Listed): boolean;
  /** What filters decide by principal; absent: nothing. */
  readonly byPrincipal?: PrincipalFilters | undefined;
  /** Per server: which of its tools are exposed, from `servers.<name>.tools`, and the prefix. Absent = all, own name. */
  readonly selection: ReadonlyMap<
    string,
    { readonly prefix: string; accepts(tool: string): boolean }
  >;
}

/**
 * One of the config's `endpoints`, as a generation shows it.
 *
 * @example const update = (endpoints: ReadonlyMap<string, CompiledEndpoint>) => shown = endpoints;
 */
export interface CompiledEndpoint {
  readonly listener: string;
  readonly path: string;
  readonly content: EndpointContent;
}

/**
 * What something is called at an endpoint.
 *
 * @example const text = ({ endpoint, name }: EndpointName) => `${name} at ${endpoint}`;
 */
export interface EndpointName {
  readonly endpoint: string;
  readonly name: string;
}

/**
 * Serves the endpoints of the config and of plugins to clients. It lives through reloads, so that no session is lost.
 *
 * @example
 * gateway.add(EndpointServers, new Faces(gateway.services.host));
 */
export interface EndpointServer {
  /**
   * Shows the new content, opens endpoints that are new and closes those that are gone; at once, in the turn of the swap. Must not
   * throw: the swap cannot be undone.
   */
  update(endpoints: ReadonlyMap<string, CompiledEndpoint>): void;
  /** Handlers of the endpoints on one listener, by exact path. Requests reach them below the router, with their principal. */
  handlersOf(listener: string): ReadonlyMap<string, NodeHandler>;
  /** Rebuilds every list, because a filter changed its answers, and tells clients what differs. */
  relist(): void;
  /** What endpoints leave out of their lists, and why. */
  readonly problems: readonly GatewayWarning[];
  /** What a tool of a server is called at each endpoint that has it, for a principal. */
  namesOf(server: string, tool: string, principal: Principal): readonly EndpointName[];
  /** Ends the sessions that matching principals opened; tells how many that were. */
  revoke(match: (principal: Principal) => boolean): number;
  /** Ends every session and stream. The gateway calls it when the plugin leaves and when it shuts down, perhaps more than once. */
  close(): void;
}

/**
 * What serves the endpoints of the gateway; one at most. It shows what comes with each config that is applied, and is closed
 * with its plugin.
 *
 * @example gateway.add(EndpointServers, new Faces(gateway.services.host));
 */
export const EndpointServers: Point<EndpointServer, EndpointServer> = definePoint(
  "endpoint-servers",
  {
    only: (one, other) =>
      `The endpoints are served twice: by plugin "${one}" and by plugin "${other}".`,
    hint: "Switch one of them off, e.g. plugins: { mcp: false }.",
  },
);

/** In a gateway whose endpoints nobody serves. */
export const NO_ENDPOINTS: EndpointServer = {
  update: () => {},
  handlersOf: () => new Map(),
  relist: () => {},
  problems: [],
  namesOf: () => [],
  revoke: () => 0,
  close: () => {},
};
