import type { GatewayInfo } from "./gateway-info.ts";
import type { CallInput, Middleware } from "../call/call.ts";
import type { Logger } from "pino";
import type { Answer } from "../call/answer.ts";
import type {
  Handle,
  PromptDefinition,
  ResourceDefinition,
  ResourceHandle,
  ToolDefinition,
  ToolSchema,
} from "./definitions.ts";
import type { DeadlineRule } from "../call/pipeline.ts";
import type { Point } from "./point.ts";
import type { GatewayHooks, PluginHook } from "./hooks.ts";
import type { Server } from "../call/server.ts";
import type { RouteHandler, RouteMethod, RouteOptions, WebSocketOptions, Socket } from "./route.ts";
import type { Inject, Injected } from "../kit/service.ts";
import type { Stage } from "../call/stages.ts";

/**
 * What a plugin's `setup` receives. Everything registered here belongs to the plugin's scope and leaves with it: there is nothing
 * to unregister, and nothing leaves alone. What clients keep a list of (tools, resources, prompts) gives a
 * {@link Handle}, to tell them of a change; the rest gives nothing back.
 *
 * @example
 * function addClock(gateway: PluginContext): void {
 *   gateway.tool("now", { description: "Tells the time.", run: () => new Date().toISOString() });
 * }
 */
export interface PluginContext<C = unknown, I extends Inject = Inject> {
  /** Validated options from the gateway config. */
  readonly config: C;
  /** Values of the `inject` map. */
  readonly services: Injected<I>;
  /** Writes lines that carry the plugin's name. */
  readonly log: Logger;
  /** What the gateway is: its servers, what runs, what exists for whom. What changes it is the service `Management`. */
  readonly info: GatewayInfo;
  /**
   * Adds a tool to the plugin's own server.
   * @example
   * gateway.tool("add", {
   *   description: "Adds two numbers.",
   *   input: z.object({ a: z.number(), b: z.number() }),
   *   run: ({ a, b }) => ({ sum: a + b }),
   * });
   */
  tool<S extends ToolSchema>(name: string, definition: ToolDefinition<S>): Handle;
  /**
   * Adds a resource, or with `uriTemplate` all those that fit the template.
   * @example
   * const status = gateway.resource("status", { uri: "build://status", read: () => ({ text: last }) });
   * builds.on("end", () => status.updated());
   */
  resource(name: string, definition: ResourceDefinition): ResourceHandle;
  /**
   * Adds a prompt.
   * @example
   * gateway.prompt("review", {
   *   arguments: [{ name: "file", required: true }],
   *   get: ({ file }) => ({ role: "user", content: { type: "text", text: `Review ${file}.` } }),
   * });
   */
  prompt(name: string, definition: PromptDefinition): Handle;
  /** Adds a whole server, e.g. one whose tools come and go; it joins the catalogue like an upstream. */
  server(server: Server): void;
  /**
   * Accepts WebSocket connections on a path, which may have parameters, e.g. `/rooms/:id`. Host, Origin and access are checked
   * before `accept` is called; when it fails, its connection is closed with 1011.
   * @example
   * gateway.route("GET", "/clock", { access: "viewer", mutates: false, websocket: true }, (socket) =>
   *   socket.send(new Date().toISOString()),
   * );
   */
  route(
    method: "GET",
    path: string,
    options: WebSocketOptions,
    accept: (socket: Socket) => unknown,
  ): void;
  /**
   * Answers HTTP requests.
   * @example
   * gateway.route("GET", "/jobs/:id", { access: "caller", mutates: false }, (event) =>
   *   jobs.get(event.context.params!["id"]!),
   * );
   */
  route(method: RouteMethod, path: string, options: RouteOptions, handler: RouteHandler): void;
  /**
   * Decides how long calls may run, in place of the core's own rule. One plugin at most. Asked once per call, behind the gate;
   * a throw refuses the call.
   * @example gateway.use("deadline", { limit: (call) => ({ total: call.timeout ?? 30_000, idle: 5_000 }) });
   */
  use(stage: "deadline", rule: DeadlineRule): void;
  /**
   * Joins a stage of the pipeline. Within one stage the order is that of the plugins (service graph, then name).
   * @example
   * gateway.use("observe", async (call, next) => {
   *   const answer = await next(call);
   *   gateway.log.info({ tool: call.name, failed: answer.isError }, "called");
   *   return answer;
   * });
   */
  use(stage: Stage, middleware: Middleware): void;
  /**
   * Adds a value to a point that a plugin or the gateway owns: a check, an authenticator, a panel of a web interface. A point that
   * nobody owns keeps it and costs nothing. What a point offers is said where it is defined; see {@link definePoint}.
   * @example gateway.add(Checks, { name: "queue", ask: () => (queue.isConnected ? undefined : "The queue is away.") });
   */
  add<T>(point: Point<T>, value: NoInfer<T>): void;
  /**
   * What plugins have added to a point, in the order of the plugins, in the config in force: while a plugin is set up
   * and started, that is the config before. The first config has no values then.
   * @example const quotas = (): readonly Quota[] => gateway.point(Quotas);
   */
  point<R>(point: Point<never, R>): readonly R[];
  /**
   * Observes what happens in the gateway.
   * @example gateway.hook("server:state", (name, { state }) => gateway.log.info({ name, state }));
   */
  hook<K extends keyof GatewayHooks>(name: K, listener: GatewayHooks[K]): void;
  /**
   * Tells everyone who listens to a hook of this plugin.
   * @throws {GatewayError} `invalid` for a hook of the core, which only the core emits
   */
  emit<K extends PluginHook>(name: K, ...args: Parameters<GatewayHooks[K]>): void;
  /**
   * Calls a tool through the same pipeline as every client. Available once started. With `peer` it answers what the tool asks: by
   * requests in the middle of the call, and by `input_required`, whereupon the call is made again with the answers.
   * @example const answer = await gateway.call({ server: "search", name: "find", args: { query } });
   */
  call(input: CallInput): Promise<Answer>;
  /**
   * A value that survives reloads of this plugin: made once, kept by key, dropped when the plugin leaves the config.
   * @param dispose called with the value when it is dropped
   * @example const counts = gateway.keep("counts", () => new Map<string, number>());
   */
  keep<T>(key: string, create: () => T, dispose?: (value: T) => void | Promise<void>): T;
  /**
   * Opens things once everything is set up; the function it returns undoes it at dispose.
   * @example
   * gateway.onStart(() => {
   *   const timer = setInterval(poll, 60_000);
   *   return () => clearInterval(timer);
   * });
   */
  onStart(start: () => void | Undo | Promise<void | Undo>): void;
  /** Runs at dispose, last registered first; every one runs even when another throws. */
  onDispose(undo: Undo): void;
}

/** Undoes a start. */
export type Undo = () => void | Promise<void>;
