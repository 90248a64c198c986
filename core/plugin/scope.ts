import type { Deadline } from "../call/pipeline.ts";
import type { RegisteredFilter } from "./filters.ts";
import { checkEmitted, currentHook } from "./hooks.ts";
import type { PluginAction } from "../http/audit.ts";
import type { GatewayWarning } from "./description.ts";
import type { Call, Middleware } from "../call/call.ts";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { HookListener } from "./emitter.ts";
import { GatewayError } from "../errors.ts";
import { injections } from "./graph.ts";
import { PluginServer } from "../server/plugin/plugin-server.ts";
import type { LocalDefinitions } from "./definitions.ts";
import type { AnyPlugin, PluginContext, Undo } from "./plugin.ts";
import type { EndpointHost, EndpointServer } from "../gateway/endpoint-server.ts";
import type { EndpointInput, ListenerInput } from "./definitions.ts";
import type { Authenticator } from "../http/auth/authentication.ts";
import type { RouteHandler, RouteMethod, RouteOptions } from "../http/route.ts";
import type { ManagedServer, ServerType } from "../server/server-type.ts";
import type { Socket } from "../http/route.ts";
import type { Server, ServerEvent } from "../server/server.ts";
import { GuardedServer } from "../server/guarded-server.ts";
import { Sources } from "./sources.ts";
import { STAGES, type Stage } from "../call/stages.ts";

/** A route as registered, with the plugin it came from. */
export interface RegisteredRoute {
  readonly plugin: string;
  readonly method: RouteMethod;
  readonly path: string;
  readonly options: RouteOptions;
  readonly handler: RouteHandler;
}

/** A WebSocket path as registered. */
export interface RegisteredSocket {
  readonly plugin: string;
  readonly path: string;
  readonly options: RouteOptions;
  readonly accept: (socket: Socket) => void;
}

/** A middleware as registered. */
export interface RegisteredMiddleware {
  readonly plugin: string;
  readonly stage: Stage;
  readonly run: Middleware;
}

/** What `/readyz` depends on, as registered. */
export interface Condition {
  readonly what: string;
  readonly missing: () => string | undefined;
}

/** What a scope's plugin registered: plain lists, from which `compile` makes what serves requests. */
export interface Registrations extends LocalDefinitions {
  readonly routes: RegisteredRoute[];
  readonly servers: Server[];
  readonly middleware: RegisteredMiddleware[];
  readonly listeners: { readonly name: string; readonly settings: ListenerInput }[];
  readonly endpoints: { readonly name: string; readonly settings: EndpointInput }[];
  readonly sockets: RegisteredSocket[];
  readonly warnings: GatewayWarning[];
  readonly conditions: Condition[];
  readonly serverTypes: { readonly type: string; readonly definition: ServerType }[];
  readonly filters: RegisteredFilter[];
  readonly deadlines: ((call: Call) => Deadline)[];
  readonly authenticators: Authenticator[];
  readonly hooks: HookListener[];
  readonly starters: (() => void | Undo | Promise<void | Undo>)[];
}

/** One plugin set up with one set of options: everything it registered, and how to undo what it started. */
export interface Scope extends Registrations {
  /** Key in the config's `plugins`. */
  readonly key: string;
  readonly name: string;
  readonly plugin: AnyPlugin;
  /** Options as written; equal options keep a scope through a reload. */
  readonly options: unknown;
  /** The scope that provided each injected service, by service id. */
  readonly injected: ReadonlyMap<string, Scope | undefined>;
  /** Files the plugin was made from. */
  readonly sources: Sources;
  /** Cleanups in the order in which they became due; run in reverse. */
  readonly cleanups: Undo[];
  readonly registry: Registry;
  readonly abort: AbortController;
  readonly log: Logger;
  /** The plugin's own tools, resources and prompts, as a server. */
  readonly local: PluginServer;
  /** Servers of types that this plugin brings, made and not closed yet. */
  readonly managed: Set<ManagedServer>;
  /** Serves the endpoints, if this plugin does. */
  endpointServer: EndpointServer | undefined;
  /** What `setup` returned. */
  service: unknown;
}

/** The parts of the gateway that a plugin reaches through its context. */
export type ScopeHost = Pick<
  PluginContext,
  "servers" | "emit" | "call" | "evict" | "shows" | "exists" | "timeouts" | "control" | "cwd"
> & {
  readonly log: Logger;
  readonly endpointHost: EndpointHost;
  /** Builds the lists of every face anew, because a filter changed its answers. */
  relist(): void;
  /** Writes a line of the audit. */
  audit(action: PluginAction): void;
  /** Hears what the plugin's own servers report. */
  onEvent(name: string, event: ServerEvent): void;
  /** Keeps a value for the plugin of that config key. */
  keep<T>(
    key: string,
    name: string,
    create: () => T,
    dispose?: (value: T) => void | Promise<void>,
  ): T;
};

/** An empty scope. */
export function createScope(
  identity: Pick<Scope, "key" | "plugin" | "options" | "injected" | "registry">,
  host: ScopeHost,
): Scope {
  const { name } = identity.plugin;
  const log = host.log.child({ plugin: name });
  const registrations: Registrations = {
    routes: [],
    tools: [],
    resources: [],
    resourceTemplates: [],
    prompts: [],
    servers: [],
    middleware: [],
    listeners: [],
    endpoints: [],
    sockets: [],
    warnings: [],
    conditions: [],
    serverTypes: [],
    filters: [],
    deadlines: [],
    authenticators: [],
    hooks: [],
    starters: [],
  };
  return {
    ...identity,
    ...registrations,
    name,
    log,
    sources: new Sources(host.cwd),
    cleanups: [],
    abort: new AbortController(),
    local: new PluginServer(name, registrations, log),
    managed: new Set(),
    endpointServer: undefined,
    service: undefined,
  };
}

/** The door that `setup` receives: every registration lands in the scope's lists. */
export function createContext(scope: Scope, config: unknown, host: ScopeHost): PluginContext {
  const { key, name, plugin, injected } = scope;
  const services = injections(plugin).map(({ field, id }) => [field, injected.get(id)?.service]);
  return {
    name,
    config,
    services: Object.fromEntries(services) as PluginContext["services"],
    get servers() {
      return host.servers;
    },
    log: scope.log,
    cwd: host.cwd,
    text: (path) => scope.sources.text(path),
    code: (path) => scope.sources.code(path),
    metrics: scope.registry,
    signal: scope.abort.signal,
    tool: (tool, definition) => void scope.tools.push({ name: tool, definition: definition }),
    resource: (definition) => void scope.resources.push(definition),
    resourceTemplate: (definition) => void scope.resourceTemplates.push(definition),
    prompt: (definition) => void scope.prompts.push(definition),
    changed: (list) => scope.local.changed(list),
    updated: (uri) => scope.local.updated(uri),
    server: (server) => void scope.servers.push(new GuardedServer(server, scope.log)),
    route: (method, path, options, handler) =>
      void scope.routes.push({ plugin: name, method, path, options, handler }),
    use(stage, run) {
      if (!STAGES.includes(stage))
        throw new GatewayError("invalid", `it uses an unknown stage "${stage}".`, {
          hint: `Stages: ${STAGES.join(", ")}.`,
        });
      scope.middleware.push({ plugin: name, stage, run });
    },
    warn: (warning) => void scope.warnings.push({ ...warning, code: "plugin" }),
    readiness: (what, missing) => void scope.conditions.push({ what, missing }),
    listener: (listener, settings) => void scope.listeners.push({ name: listener, settings }),
    endpoint: (endpoint, settings) => void scope.endpoints.push({ name: endpoint, settings }),
    socket: (path, options, accept) =>
      void scope.sockets.push({ plugin: name, path, options, accept }),
    serveEndpoints: (create) => void (scope.endpointServer = create(host.endpointHost)),
    serverType: (type, definition) => void scope.serverTypes.push({ type, definition }),
    filter(shows: RegisteredFilter["shows"], options?: Pick<RegisteredFilter, "viewOf">) {
      scope.filters.push({ ...options, plugin: name, shows });
      return () => host.relist();
    },
    shows: (item, principal) => host.shows(item, principal),
    exists: (item, principal) => host.exists(item, principal),
    deadline: (of) => void scope.deadlines.push(of),
    timeouts: (call) => host.timeouts(call),
    authenticator: (authenticator, authenticate, options) =>
      void scope.authenticators.push({
        ...options,
        name: authenticator,
        plugin: name,
        authenticate,
      }),
    get control() {
      return host.control;
    },
    hook: (hook, listener) =>
      void scope.hooks.push({ owner: name, hook: currentHook(hook, scope.log), listener }),
    emit(hook, ...args) {
      checkEmitted(name, hook);
      host.emit(hook, ...args);
    },
    audit: (action, target, details, on) =>
      host.audit({ plugin: name, action, target, details, on }),
    call: host.call,
    evict: host.evict,
    keep: (field, create, dispose) => host.keep(key, field, create, dispose),
    onStart: (start) => void scope.starters.push(start),
    onDispose: (undo) => void scope.cleanups.push(undo),
  };
}

/** Opens what the plugin opens; what it returns to undo joins the cleanups at once, so a later failure undoes it. */
export async function startScope(scope: Scope): Promise<void> {
  for (const start of scope.starters) {
    const undo = await start();
    if (!undo) continue;
    // A start that was given up on may still finish: what it opened must not stay open.
    if (scope.abort.signal.aborted) await undo();
    else scope.cleanups.push(undo);
  }
}

async function closeManaged(scope: Scope, errors: unknown[]): Promise<void> {
  const closed = await Promise.allSettled([...scope.managed].map((server) => server.close(0)));
  for (const result of closed) {
    if (result.status === "fulfilled") continue;
    scope.log.error({ err: result.reason as unknown }, "a server could not be closed");
    errors.push(result.reason);
  }
  scope.managed.clear();
}

/** Undoes a scope, last registered first. Every cleanup runs even when another throws; the errors are logged and returned. */
export async function disposeScope(scope: Scope): Promise<unknown[]> {
  const errors: unknown[] = [];
  scope.endpointServer?.close();
  // What the plugin made leaves before what it is made of; no call is left by now.
  await closeManaged(scope, errors);
  scope.abort.abort();
  for (const undo of scope.cleanups.splice(0).toReversed()) {
    try {
      await undo();
    } catch (error) {
      scope.log.error({ err: error }, "a cleanup failed");
      errors.push(error);
    }
  }
  scope.registry.clear();
  return errors;
}
