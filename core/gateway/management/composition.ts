import type { Generation } from "../generation.ts";
import { chosen } from "../../config/defaults.ts";
import { injections } from "../graph.ts";
import type { Gateway } from "../gateway.ts";
import type { Access } from "../../plugin/route.ts";
import { addedTo, isOfGateway, type Scope } from "../scope.ts";
import { Endpoints, Listeners, ServerTypes } from "../../plugin/config-points.ts";
import { STAGES, type Stage } from "../../call/stages.ts";
import type { Tool } from "../../kit/types.ts";

/** What one plugin is made of and brings, as composed with the others. */
export interface PluginComposition {
  /** Key in the config's `plugins`. */
  readonly key: string;
  readonly name: string;
  /** Place in the order of set-up, from 1; within one stage also that of its middleware. */
  readonly order: number;
  /** Id of the service it provides. */
  readonly provides: string | undefined;
  /**
   * Services it takes, and the plugin each comes from; `the gateway` for those of its own, `undefined` for an optional one that nobody
   * provides.
   */
  readonly injects: readonly { readonly service: string; readonly from: string | undefined }[];
  /** Stages of the pipeline it joins, outermost first. */
  readonly stages: readonly Stage[];
  readonly hooks: readonly string[];
  readonly routes: readonly {
    readonly listener: string;
    /** Method and path; `WS` for a WebSocket. */
    readonly route: string;
    readonly access: Access;
    readonly mutates: boolean;
    readonly management: boolean;
  }[];
  /** Its servers with their tools: its own one, and those it adds. */
  readonly servers: readonly { readonly name: string; readonly tools: readonly string[] }[];
  readonly serverTypes: readonly string[];
  readonly listeners: readonly string[];
  readonly endpoints: readonly string[];
  readonly metrics: readonly string[];
}

/** Tells what every plugin brings, in the order of their set-up. */
export function composition({
  current: { scopes, compiled },
}: Pick<Gateway, "current">): readonly PluginComposition[] {
  return chosen(scopes).map((scope, index) => ({
    key: scope.key,
    name: scope.name,
    order: index + 1,
    provides: scope.plugin.provides?.id,
    injects: injections(scope.plugin).map(({ id }) => ({
      service: id,
      from: isOfGateway(id) ? "the gateway" : scope.injected.get(id)?.name,
    })),
    stages: stagesOf(scope),
    hooks: [...new Set(scope.hooks.map(({ hook }) => hook))].toSorted(),
    routes: routesOf(scope, compiled),
    servers: serversOf(scope),
    serverTypes: addedTo(scope, ServerTypes).map(({ type }) => type),
    listeners: addedTo(scope, Listeners).map(({ name }) => name),
    endpoints: addedTo(scope, Endpoints).map(({ name }) => name),
    metrics: (scope.registry?.getMetricsAsArray() ?? []).map(({ name }) => name),
  }));
}

/** A rule of how long calls may run is a part of its stage, as a middleware is. */
function stagesOf({ middleware, deadlines }: Scope): readonly Stage[] {
  const joined = new Set(middleware.map(({ stage }) => stage));
  if (deadlines.length > 0) joined.add("deadline");
  return STAGES.filter((stage) => joined.has(stage));
}

function routesOf(scope: Scope, { routes }: Generation["compiled"]): PluginComposition["routes"] {
  const own = [...routes].flatMap(([listener, table]) =>
    table
      .filter(({ plugin }) => plugin === scope.name)
      .map(({ method, path, options }) => ({ listener, route: `${method} ${path}`, options })),
  );
  const sockets = scope.sockets.map(({ path, options }) => ({
    listener: options.listener ?? "",
    route: `WS ${path}`,
    options,
  }));
  return [...own, ...sockets].map(({ listener, route, options }) => ({
    listener,
    route,
    access: options.access,
    mutates: options.mutates,
    management: options.management === true,
  }));
}

function serversOf({ local, servers, name }: Scope): PluginComposition["servers"] {
  const names = (tools: readonly Tool[]): readonly string[] => tools.map((tool) => tool.name);
  const own = names(local.catalogue.tools);
  return [
    ...(own.length === 0 ? [] : [{ name, tools: own }]),
    ...servers.map((server) => ({
      name: server.name,
      tools: names(server.catalogue.tools),
    })),
  ];
}
