import type { Middleware } from "../call/call.ts";
import type { DeadlineRule } from "../call/pipeline.ts";
import { STAGES, type Stage } from "../call/stages.ts";
import type { Logger } from "pino";
import { GatewayError } from "../kit/errors.ts";
import type {
  RouteHandler,
  RouteMethod,
  RouteOptions,
  WebSocketOptions,
  Socket,
} from "../plugin/route.ts";
import { GuardedServer } from "../server/guarded-server.ts";
import type {
  Handle,
  NamedDefinition,
  ResourceDefinition,
  ResourceHandle,
} from "../plugin/definitions.ts";
import { injections } from "./graph.ts";
import { checkEmitted } from "../plugin/hooks.ts";
import { CLOSED_POINTS } from "../plugin/config-points.ts";
import type { PluginContext } from "../plugin/plugin-context.ts";
import type { Point } from "../plugin/point.ts";
import { isOfGateway, ownService, type Scope, type ScopeHost } from "./scope.ts";

/** Answers requests, or accepts WebSocket connections. */
type Answering = RouteHandler | Accepting;

/** Accepts a WebSocket connection. */
type Accepting = (socket: Socket) => unknown;

/** What `setup` receives: every registration lands in the scope's lists. */
export async function createContext(
  scope: Scope,
  config: unknown,
  host: ScopeHost,
): Promise<PluginContext> {
  const { key, name } = scope;
  const members: PluginContext = {
    config,
    services: await servicesOf(scope, host),
    log: scope.log,
    info: host.info,
    tool: (tool, definition) => register(scope, "tool", tool, definition, scope.tools),
    resource: (resource, definition) => registerResource(scope, resource, definition),
    prompt: (prompt, definition) => register(scope, "prompt", prompt, definition, scope.prompts),
    server: (server) => void scope.servers.push(new GuardedServer(server, scope.log)),
    route: (
      method: RouteMethod,
      path: string,
      options: RouteOptions | WebSocketOptions,
      handler: Answering,
    ) => registerRoute(scope, method, path, options, handler),
    add: (point, value) => add(scope, point, value),
    point: (point) => readPoint(host, point),
    use: (stage: Stage, joining: Middleware | DeadlineRule) => joinStage(scope, stage, joining),
    hook: (hook, listener) => void scope.hooks.push({ owner: name, hook, listener }),
    emit(hook, ...args) {
      checkEmitted(name, hook);
      host.emit(hook, ...args);
      host.event(name, hook, args[0]);
    },
    call: host.call,
    keep: (field, create, dispose) => host.keep(key, field, create, dispose),
    onStart: (start) => void scope.starters.push(start),
    onDispose: (undo) => void scope.cleanups.push(undo),
  };
  return members;
}

/** What the plugin injects, by the names that it gives them. */
async function servicesOf(scope: Scope, host: ScopeHost): Promise<PluginContext["services"]> {
  const services = injections(scope.plugin).map(async ({ field, id, optional }) => [
    field,
    isOfGateway(id)
      ? await ownService({ id, optional }, scope, host)
      : scope.injected.get(id)?.service,
  ]);
  return Object.fromEntries(await Promise.all(services)) as PluginContext["services"];
}

/** Plugins in files are run without a look at their types, so what the types demand is demanded here again. */
function register<T>(
  { local }: Scope,
  kind: "tool" | "resource" | "prompt",
  name: string,
  definition: T,
  list: NamedDefinition<T>[],
): Handle {
  if (typeof name !== "string" || typeof definition !== "object")
    throw new GatewayError("invalid", `gateway.${kind} takes a name and then a definition.`, {
      hint: `Write gateway.${kind}("name", { ... }).`,
    });
  list.push({ name, definition });
  return { changed: () => local.changed(`${kind}s`) };
}

function registerResource(
  scope: Scope,
  name: string,
  definition: ResourceDefinition,
): ResourceHandle {
  const handle =
    definition?.uriTemplate === undefined
      ? register(scope, "resource", name, definition, scope.resources)
      : register(scope, "resource", name, definition, scope.resourceTemplates);
  return {
    ...handle,
    updated(uri = definition.uri) {
      if (uri === undefined)
        throw new GatewayError("invalid", `Which resource of "${name}" was updated?`, {
          hint: `Write updated(uri) with a URI that fits ${definition.uriTemplate}.`,
        });
      scope.local.updated(uri);
    },
  };
}

function registerRoute(
  { name: plugin, routes, sockets, log }: Scope,
  method: RouteMethod,
  path: string,
  options: RouteOptions | WebSocketOptions,
  handler: Answering,
): void {
  if (options?.websocket !== true) {
    routes.push({ plugin, method, path, options, handler: handler as RouteHandler });
    return;
  }
  if (method !== "GET")
    throw new GatewayError("invalid", `A WebSocket begins with GET, not ${method} ${path}.`);
  const accept = (socket: Socket): void => void acceptOrClose(handler as Accepting, socket, log);
  sockets.push({ plugin, path, options, accept });
}

/** A plugin that fails, at once or later, loses its connection and nothing else. */
async function acceptOrClose(accept: Accepting, socket: Socket, log: Logger): Promise<void> {
  try {
    await accept(socket);
  } catch (err) {
    log.error({ err }, "a WebSocket connection could not be accepted");
    // RFC 6455 section 7.4.1: an unexpected condition.
    socket.close(1011);
  }
}

function add({ key, name: plugin, added }: Scope, point: Point, value: unknown): void {
  const isPoint = typeof point?.id === "string" && typeof point.rules === "object";
  if (!isPoint || value === undefined)
    throw new GatewayError("invalid", "gateway.add takes a point and then a value.", {
      hint: "Import the point from the package of the plugin that owns it.",
    });
  added.push({ key, plugin, point, value });
}

function readPoint<R>(host: ScopeHost, point: Point<never, R>): readonly R[] {
  if (CLOSED_POINTS.has(point.id))
    throw new GatewayError("forbidden", `Only the gateway reads what is added to ${point.id}.`, {
      hint: "gateway.info says what is in force.",
    });
  return host.point(point);
}

function joinStage(
  { name: plugin, middleware, deadlines }: Scope,
  stage: Stage,
  joining: Middleware | DeadlineRule,
): void {
  if (!STAGES.includes(stage))
    throw new GatewayError("invalid", `It uses an unknown stage "${stage}".`, {
      hint: `Stages: ${STAGES.join(", ")}.`,
    });
  if (typeof joining === "function") middleware.push({ plugin, stage, run: joining });
  else if (stage === "deadline" && typeof joining?.limit === "function") deadlines.push(joining);
  else
    throw new GatewayError("invalid", `It joins the stage "${stage}" with no function.`, {
      hint: "Write gateway.use(stage, (call, next) => next(call)).",
    });
}
