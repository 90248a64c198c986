import type { ServerType } from "../call/server-type.ts";
import type { EndpointInput, ListenerInput } from "./definitions.ts";
import { EndpointServers } from "./endpoint-server.ts";
import { Filters } from "./filters.ts";
import { Authenticators } from "./kernel-points.ts";
import { definePoint, type Point } from "./point.ts";
import { Reshapes } from "./reshapes.ts";

/**
 * Listeners that plugins bring, as if they stood in the config's `listeners`. Routes and endpoints can name them; the gateway opens
 * them, keeps them through reloads and closes them.
 *
 * @example gateway.add(Listeners, { name: "inside", port: 9090 });
 */
export const Listeners: Point<ListenerInput & { readonly name: string }> = definePoint("listeners");

/**
 * MCP endpoints that plugins bring, as if they stood in the config's `endpoints`.
 *
 * @example gateway.add(Endpoints, { name: "research", path: "/research", listener: "inside", servers: ["search"] });
 */
export const Endpoints: Point<EndpointInput & { readonly name: string }> = definePoint("endpoints");

/**
 * What serves the entries of the config's `servers` with a `type`. The schema of the type stands in `serverTypes` of the plugin's
 * definition, since a config is read before its plugins are set up.
 *
 * @example
 * gateway.add(ServerTypes, { type: "card", create: (name, options: Options) => new CardServer(name, options) });
 */
export const ServerTypes: Point<ServerType & { readonly type: string }> =
  definePoint("server-types");

/** Points whose values no plugin reads: what one adds there decides who gets in or reaches what, and holds secrets. */
export const CLOSED_POINTS: ReadonlySet<string> = new Set(
  [Authenticators, Filters, Listeners, Endpoints, EndpointServers, Reshapes, ServerTypes].map(
    ({ id }) => id,
  ),
);
