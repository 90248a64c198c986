import type { Next } from "../call/call.ts";
import type { Logger } from "pino";
import type { Authenticator, FindCredential } from "../http/auth/authentication.ts";
import type { Guesses } from "../http/auth/guesses.ts";
import { createChain } from "../http/auth/authenticator.ts";
import { defaultListener } from "../http/listeners.ts";
import { checkComposed } from "../config/checks.ts";
import type { Config } from "../config/config.ts";
import { invalidConfig } from "../config/issue.ts";
import type { GatewayConfig } from "../config/schema.ts";
import type { HookListener } from "../plugin/emitter.ts";
import { coreStages, createAllowance, type Allowance } from "../call/built-in-stages.ts";
import { compileEndpoints, compileSelection } from "./compile-endpoints.ts";
import { NO_ENDPOINTS, type CompiledEndpoint, type EndpointServer } from "./endpoint-server.ts";
import { GatewayError } from "../errors.ts";
import { createGuard, type Guard } from "../http/guard.ts";
import type { GatewayHooks } from "../plugin/hooks.ts";
import { checkMetrics } from "../plugin/metrics.ts";
import { DeclaredEvents } from "../plugin/declared-events.ts";
import type { CheckedPanel } from "../plugin/panel.ts";
import { checkPanels } from "../plugin/panel-checks.ts";
import { composePipeline, createEntry, race, type Abortion } from "../call/pipeline.ts";
import type { InFlightSet } from "../call/cancellation.ts";
import {
  combinePrincipalFilters,
  type Listed,
  type PrincipalFilters,
  type RegisteredFilter,
} from "../plugin/filters.ts";
import type { Principal } from "../call/types.ts";
import type { Server } from "../server/server.ts";
import type { PageHandler } from "../http/route.ts";
import { collectServers } from "../server/server-types.ts";
import { assignRoutes, assignSockets, type SocketTable } from "../http/route-table.ts";
import type { RegisteredRoute, Scope } from "../plugin/scope.ts";

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
  readonly hooks: ReadonlyMap<keyof GatewayHooks, readonly HookListener[]>;
  /** What plugins bring to web interfaces. */
  readonly panels: readonly CheckedPanel[];
  /** Kinds of events that plugins declare; `undefined`: none does. */
  readonly events: DeclaredEvents | undefined;
  /** What browsers get at endpoints. */
  readonly page: PageHandler | undefined;
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
  const servers = collectServers(input.config, scopes, input.servers);
  const chain = createChain(
    config.auth,
    scopes.flatMap((scope) => scope.authenticators),
    input.guesses,
  );
  const open = chain === undefined;
  const known = [...servers.keys(), ...Object.keys(config.servers)];
  const issues = checkComposed(config, { servers: known, isOpen: open });
  if (issues.length > 0) throw invalidConfig(issues.map((issue) => input.config.place(issue)));
  const guard = createGuard(chain, config, credentialsOf(scopes));
  for (const scope of scopes) checkTools(scope);
  checkMetrics(scopes);
  const exposes = createExposure(config);
  const filters = scopes.flatMap((scope) => scope.filters);
  const byPrincipal = combinePrincipalFilters(filters, log);
  const { exists, shows } = byPrincipal ? guarded(byPrincipal) : UNFILTERED;
  const showsAnyone = combineFilters(filters, exposes);
  const isUnfiltered = filters.length === 0;
  const shown = { shows: showsAnyone, byPrincipal, isUnfiltered };
  const endpointServer = endpointServerOf(scopes);
  const endpoints = endpointServer
    ? compileEndpoints(config, servers, shown)
    : new Map<string, CompiledEndpoint>();
  const routes = assignRoutes(config, scopes, endpoints);
  const sockets = assignSockets(config, scopes, endpoints);
  const panels = panelsOf(config, scopes, routes);
  const hooks = groupHooks(scopes.flatMap((scope) => scope.hooks));
  const allowance = createAllowance({ config, scopes });
  const ofPlugins = scopes.flatMap((scope) => scope.middleware);
  const middleware = [...coreStages({ scopes, running, log }, allowance), ...ofPlugins];
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
    hooks,
    panels,
    events: eventsOf(scopes),
    page: pageOf(scopes),
    guard,
    open,
    authenticators: chain?.links ?? [],
  };
}

type Filtering = Readonly<
  Record<"shows" | "exists", (item: Listed, principal: Principal) => boolean>
>;

const UNFILTERED: Filtering = { shows: () => true, exists: () => true };

/** For whom a filter cannot name a view, there is nothing. */
function guarded(filters: PrincipalFilters): Filtering {
  const isKnown = (principal: Principal): boolean => filters.viewOf(principal) !== undefined;
  return {
    shows: (item, principal) => isKnown(principal) && filters.shows(item, principal),
    exists: (item, principal) => isKnown(principal) && filters.exists(item, principal),
  };
}

function endpointServerOf(scopes: readonly Scope[]): EndpointServer | undefined {
  const [first, second] = scopes.filter(({ endpointServer }) => endpointServer !== undefined);
  if (!second) return first?.endpointServer;
  throw new GatewayError(
    "exists",
    `The endpoints are served twice: by plugin "${first!.name}" and by plugin "${second.name}".`,
    { hint: "Switch one of them off, e.g. plugins: { mcp: false }." },
  );
}

/** What the config's `tools` of a server let out; the rest is nobody's to call, whatever the face. */
function createExposure({ servers }: GatewayConfig): Compiled["exposes"] {
  const selection = compileSelection(servers);
  return (server, tool) => selection.get(server)?.accepts(tool) ?? true;
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
    forAll.every(({ shows }) => (shows as (item: Listed) => boolean)(item));
}

/** A panel is nothing without the management, whose routes are not there then. */
function panelsOf(
  config: GatewayConfig,
  scopes: readonly Scope[],
  routes: Compiled["routes"],
): readonly CheckedPanel[] {
  const panels = config.management.enabled ? scopes.flatMap((scope) => scope.panels) : [];
  return panels.length === 0 ? [] : checkPanels(panels, routes.get(defaultListener(config)) ?? []);
}

function eventsOf(scopes: readonly Scope[]): DeclaredEvents | undefined {
  const declaring = scopes.filter(({ plugin }) => plugin.events);
  return declaring.length === 0 ? undefined : new DeclaredEvents(declaring);
}

function credentialsOf(scopes: readonly Scope[]): FindCredential | undefined {
  const [first, second] = scopes.flatMap(({ name, credentials }) =>
    credentials.map((find) => ({ name, find })),
  );
  if (!second) return first?.find;
  throw new GatewayError(
    "exists",
    `Plugins "${first!.name}" and "${second.name}" both stand in for credentials.`,
    { hint: "Take one of them out of plugins." },
  );
}

function pageOf(scopes: readonly Scope[]): PageHandler | undefined {
  const [first, second] = scopes.flatMap(({ name, pages }) =>
    pages.map((page) => ({ name, page })),
  );
  if (!second) return first?.page;
  throw new GatewayError(
    "exists",
    `Browsers get two pages at an endpoint: of plugin "${first!.name}" and of plugin "${second.name}".`,
    { hint: "Take one of them out of plugins." },
  );
}

function groupHooks(
  listeners: readonly HookListener[],
): ReadonlyMap<keyof GatewayHooks, readonly HookListener[]> {
  const names = new Set(listeners.map(({ hook }) => hook));
  return new Map([...names].map((name) => [name, listeners.filter(({ hook }) => hook === name)]));
}

function checkTools({ name, tools, prompts, resources, resourceTemplates }: Scope): void {
  const twice = (what: string, names: readonly string[]): void => {
    const again = names.find((candidate, index) => names.indexOf(candidate) !== index);
    if (again !== undefined)
      throw new GatewayError("exists", `Plugin "${name}" registers the ${what} "${again}" twice.`);
  };
  twice(
    "tool",
    tools.map((tool) => tool.name),
  );
  twice(
    "prompt",
    prompts.map((prompt) => prompt.name),
  );
  twice(
    "resource",
    resources.map(({ definition }) => definition.uri),
  );
  twice(
    "resource template",
    resourceTemplates.map(({ definition }) => definition.uriTemplate),
  );
}

/** The end of the pipeline. A server that does not watch the signal itself is raced against it. */
function createTerminal(servers: ReadonlyMap<string, Server>): Next {
  return (call) => {
    const server = servers.get(call.server);
    if (server?.watchesSignal) return server.request(call);
    if (server) return race(call, () => server.request(call));
    return Promise.reject(new GatewayError("not_found", `No server named "${call.server}".`));
  };
}
