import { Answer } from "../call/answer.ts";
import { amendCall, type Call, type Middleware, type Next } from "../call/call.ts";
import { logCalls } from "../call/outcome.ts";
import type { Logger } from "pino";
import type { Authenticator } from "../plugin/authentication.ts";
import type { Guesses } from "../http/guesses.ts";
import { createChain } from "../http/authenticator.ts";
import { checkComposed } from "./check/checks.ts";
import type { Config } from "../config/config.ts";
import { invalidConfig } from "../config/issue.ts";
import type { EndpointConfig, GatewayConfig } from "../config/schema.ts";
import type { ServerConfig } from "../config/server-schema.ts";
import { matchesWildcard } from "../kit/wildcard.ts";
import type { HookListener } from "./emitter.ts";
import {
  EndpointServers,
  NO_ENDPOINTS,
  type CompiledEndpoint,
  type EndpointContent,
  type EndpointServer,
} from "../plugin/endpoint-server.ts";
import { GatewayError } from "../kit/errors.ts";
import { createGuard, type Guard } from "../http/guard.ts";
import { checkMetrics } from "./metrics.ts";
import { Authenticators, Checks, Pages, StandIns } from "../plugin/kernel-points.ts";
import { EventKinds } from "../plugin/event-kind.ts";
import type { DeclaredEventKind } from "../plugin/plugin-event.ts";
import { Points } from "./points.ts";
import { Reshapes } from "../plugin/reshapes.ts";
import type { PluginServer } from "../server/plugin-server.ts";
import { ReshapedServer, reshapeServers } from "../server/reshaped-server.ts";
import {
  composePipeline,
  createAllowance,
  createDeadline,
  createEntry,
  createTerminal,
  ownRule,
  type Abortion,
  type Allowance,
  type Deadline,
  type StagedMiddleware,
} from "../call/pipeline.ts";
import { type InFlightSet } from "../kit/cancellation.ts";
import {
  answerOf,
  combinePrincipalFilters,
  Filters,
  forKnown,
  type Listed,
  type RegisteredFilter,
} from "../plugin/filters.ts";
import type { Principal } from "../kit/types.ts";
import type { Server } from "../call/server.ts";
import { collectServers } from "./pool.ts";
import {
  assignRoutes,
  assignSockets,
  defaultListener,
  findRoute,
  type SocketTable,
} from "../http/route-table.ts";
import type { RegisteredRoute } from "../plugin/route.ts";
import { onlyOne, type Scope } from "./scope.ts";

/** What a generation is made from. */
export interface CompileInput {
  readonly config: Config;
  /** In graph order. */
  readonly scopes: readonly Scope[];
  /** Those of the config, in its order. */
  readonly servers: ReadonlyMap<string, Server>;
  /** Receives every call in flight. */
  readonly running: InFlightSet<Abortion>;
  readonly log: Logger;
  /** Counts wrong credentials; without it nobody does. */
  readonly guesses?: Guesses;
}

/** What serves requests, as data. */
export interface Compiled {
  /** The whole pipeline, down to the server. */
  readonly call: Next;
  /** Every server by name: those of the config in its order, then those of plugins. */
  readonly servers: ReadonlyMap<string, Server>;
  readonly endpoints: ReadonlyMap<string, CompiledEndpoint>;
  /** Serves them. */
  readonly endpointServer: EndpointServer;
  /** Whether the config lets a server's tool out. */
  exposes(server: string, tool: string): boolean;
  /** Whether the config and the plugins' filters show something to a principal. */
  shows(item: Listed, principal: Principal): boolean;
  /** Whether filters that look at principals let something be there for one. */
  exists(item: Listed, principal: Principal): boolean;
  /** What is set about how long a call may run. */
  readonly allowance: Allowance;
  /** Routes by listener. */
  readonly routes: ReadonlyMap<string, readonly RegisteredRoute[]>;
  /** WebSocket paths by listener. */
  readonly sockets: ReadonlyMap<string, SocketTable>;
  readonly hooks: readonly HookListener[];
  /** What plugins added to points. */
  readonly points: Points;
  /** Kinds of events that plugins declare, by their names. */
  readonly eventKinds: ReadonlyMap<string, DeclaredEventKind>;
  /** Decides who may use a route. */
  readonly guard: Guard;
  /** Whether everyone is let in. */
  readonly open: boolean;
  /** Who is asked who makes a request, in order. */
  readonly authenticators: readonly Authenticator[];
}

/**
 * Makes what serves requests from what plugins registered. Pure: it starts nothing and changes nothing.
 *
 * @throws {GatewayError} `exists` for anything registered twice, `invalid` for what cannot be served; both sides are named
 */
export function compile(input: CompileInput): Compiled {
  const { scopes, running, log } = input;
  const config = input.config.values;
  const collected = collectServers(input.config, scopes, input.servers);
  const points = new Points(scopes, input.config, (method, path) =>
    findRoute(routes.get(defaultListener(config)), method, path),
  );
  const reshapes = points.of(Reshapes);
  const servers = reshapes.length === 0 ? collected : reshapeServers(collected, reshapes, log);
  const chain = createChain(config.auth, points.of(Authenticators), input.guesses);
  const open = chain === undefined;
  const known = [...servers.keys(), ...Object.keys(config.servers)];
  const issues = checkComposed(config, { servers: known, isOpen: open });
  if (issues.length > 0) throw invalidConfig(issues.map((issue) => input.config.place(issue)));
  const guard = createGuard(chain, config, points.of(StandIns)[0]);
  for (const scope of scopes) checkTools(scope);
  checkMetrics(scopes);
  const selection = compileSelection(config.servers, servers);
  // What the config's `tools` of a server leave out is nobody's to call, whatever the face.
  const exposes: Compiled["exposes"] = (server, tool) =>
    (selection.get(server)?.accepts(tool) ?? true) && !isUndecided(server, tool);
  const isUndecided = (name: string, tool: string): boolean => {
    const server = servers.get(name);
    const isSelected = config.servers[name]?.tools !== undefined;
    return isSelected && server instanceof ReshapedServer && server.ownName(tool) === undefined;
  };
  const filters = points.of(Filters);
  const isUnfiltered = filters.length === 0;
  const byPrincipal = isUnfiltered ? undefined : combinePrincipalFilters(filters, log);
  const { exists, shows } = byPrincipal ? forKnown(byPrincipal) : UNFILTERED;
  const showsAnyone = combineFilters(filters, exposes);
  const shown = { selection, shows: showsAnyone, byPrincipal, isUnfiltered };
  const endpointServer = points.of(EndpointServers)[0];
  const endpoints = endpointServer
    ? compileEndpoints(config, servers, shown)
    : new Map<string, CompiledEndpoint>();
  const routes = assignRoutes(config, scopes, endpoints);
  const sockets = assignSockets(config, scopes, endpoints);
  // By the rules of the kernel, whatever rules those have who added.
  points.of(Checks);
  points.of(Pages);
  points.readAll();
  const allowance = createAllowance({ config, servers });
  const ofPlugins = scopes.flatMap((scope) => scope.middleware);
  const middleware = [...coreStages(input, servers, allowance), ...ofPlugins];
  const pipeline = composePipeline(middleware, createTerminal(servers));
  // The core's own stages make no call wait before the deadline, which counts it; those of plugins may.
  const call = ofPlugins.length > 0 ? createEntry(pipeline, running) : pipeline;
  return {
    call,
    servers,
    endpoints,
    endpointServer: endpointServer ?? NO_ENDPOINTS,
    exposes,
    shows: (item, principal) => showsAnyone(item) && shows(item, principal),
    exists,
    allowance,
    routes,
    sockets,
    hooks: scopes.flatMap((scope) => scope.hooks),
    points,
    eventKinds: new Map(points.of(EventKinds).map((kind) => [kind.kind, kind])),
    guard,
    open,
    authenticators: chain?.links ?? [],
  };
}

const UNFILTERED: ReturnType<typeof forKnown> = { shows: () => true, exists: () => true };

/**
 * Decides what every endpoint shows.
 *
 * @throws {GatewayError} `exists` for two plugins whose tools collide where names are not prefixed
 */
function compileEndpoints(
  config: GatewayConfig,
  servers: ReadonlyMap<string, Server>,
  filters: Omit<EndpointContent, "config" | "servers">,
): ReadonlyMap<string, CompiledEndpoint> {
  const endpoints = new Map<string, CompiledEndpoint>();
  for (const [name, endpoint] of Object.entries(config.endpoints)) {
    const listener = endpoint.listener ?? defaultListener(config);
    const shown = shownServers(endpoint, servers);
    if (endpoint.naming === "none") checkCollisions(name, shown);
    endpoints.set(name, {
      listener,
      path: endpoint.path,
      content: { config: endpoint, servers: shown, ...filters },
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
function compileSelection(
  servers: Readonly<Record<string, ServerConfig>>,
  compiled: ReadonlyMap<string, Server>,
): EndpointContent["selection"] {
  const chosen = Object.entries(servers).filter(
    ([, { tools, prefix }]) => tools !== undefined || prefix !== undefined,
  );
  return new Map(
    chosen.map(([name, { tools, prefix }]) => [
      name,
      { prefix: prefix ?? name, accepts: acceptor(tools, compiled.get(name)) },
    ]),
  );
}

/** The config selects tools by the names that their server gives them, whatever plugins make of those. */
function acceptor(
  tools: ServerConfig["tools"],
  server: Server | undefined,
): (tool: string) => boolean {
  const { include, exclude = [] } = tools ?? {};
  return (tool) => {
    const own = server instanceof ReshapedServer ? server.ownName(tool) : tool;
    // Of a server whose tools are not known yet: it may be one that is let out.
    if (own === undefined) return true;
    return (
      (include?.some((pattern) => matchesWildcard(pattern, own)) ?? true) &&
      !exclude.some((pattern) => matchesWildcard(pattern, own))
    );
  };
}

/** Shown to anyone is what the config lets out and every filter shows that looks at no principal. */
function combineFilters(
  filters: readonly RegisteredFilter[],
  exposes: Compiled["exposes"],
): (item: Listed) => boolean {
  const forAll = filters.filter(({ viewOf }) => viewOf === undefined);
  return (item) =>
    (item.kind !== "tool" || exposes(item.server, item.name)) &&
    // It has said that it does not look.
    forAll.every(({ shows }) => answerOf((shows as (item: Listed) => unknown)(item)) === true);
}

function checkTools({ name, tools, prompts, resources, resourceTemplates }: Scope): void {
  const brought = {
    tool: tools.map((tool) => tool.name),
    prompt: prompts.map((prompt) => prompt.name),
    resource: resources.map(({ definition }) => definition.uri),
    "resource template": resourceTemplates.map(({ definition }) => definition.uriTemplate),
  };
  for (const [what, names] of Object.entries(brought)) {
    const again = names.find((candidate, index) => names.indexOf(candidate) !== index);
    if (again !== undefined)
      throw new GatewayError("exists", `Plugin "${name}" registers the ${what} "${again}" twice.`);
  }
}

/** The stages that exist without any plugin; each comes first in its stage, and is left out where it has nothing to do. */
function coreStages(
  { scopes, running, log }: CompileInput,
  servers: ReadonlyMap<string, Server>,
  allowance: Allowance,
): StagedMiddleware[] {
  // One whose tools plugins have changed checks what they get on its own.
  const locals = new Map(
    [...localsOf(scopes)].filter(([name]) => {
      const server = servers.get(name);
      return !(server instanceof ReshapedServer && server.changes("tool"));
    }),
  );
  const rule = pluginRule(scopes) ?? ownRule(allowance);
  const stages: StagedMiddleware[] = [{ stage: "deadline", run: createDeadline(rule, running) }];
  if (locals.size > 0) stages.push({ stage: "validate", run: validateLocally(locals) });
  if (log.isLevelEnabled("info")) stages.push({ stage: "observe", run: logCalls(log) });
  return stages;
}

/** The rule that a plugin registered, if one did; one call has one deadline. */
function pluginRule(scopes: readonly Scope[]): ((call: Call) => Deadline) | undefined {
  const rule = onlyOne(
    scopes.flatMap(({ name: plugin, deadlines }) => deadlines.map((value) => ({ plugin, value }))),
    (one, other) => `Plugins "${one}" and "${other}" both decide how long calls may run.`,
  );
  return rule && ((call) => rule.limit(call));
}

function localsOf(scopes: readonly Scope[]): ReadonlyMap<string, PluginServer> {
  return new Map(
    scopes.filter(({ local }) => !local.isEmpty).map(({ name, local }) => [name, local]),
  );
}

/** Checks the arguments of plugin tools; an upstream answers for its own. */
function validateLocally(locals: ReadonlyMap<string, PluginServer>): Middleware {
  return (call, next) => {
    const tool =
      call.method === "tools/call" ? locals.get(call.server)?.tool(call.name) : undefined;
    if (!tool) return next(call);
    const checked = tool.check(call.args);
    return checked instanceof Answer
      ? Promise.resolve(checked)
      : next(amendCall(call, { args: checked }));
  };
}
