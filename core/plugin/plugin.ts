import type { CommandDefinition } from "./command.ts";
import type { EvictOptions, Evicted, Control } from "./control.ts";
import type { GatewayWarning } from "./description.ts";
import type { Call, CallInput, Middleware } from "../call/call.ts";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { ZodType } from "zod";
import type { Answer } from "../call/answer.ts";
import type {
  EndpointInput,
  ListenerInput,
  PromptDefinition,
  ResourceDefinition,
  ResourceTemplateDefinition,
  ToolDefinition,
  ToolSchema,
} from "./definitions.ts";
import type { Deadline, Timeouts } from "../call/pipeline.ts";
import type { Listed } from "./filters.ts";
import type { EndpointHost, EndpointServer } from "../gateway/endpoint-server.ts";
import type { GatewayHooks, PluginHook } from "./hooks.ts";
import type { Server } from "../server/server.ts";
import type { RouteEvent, RouteHandler, RouteMethod, RouteOptions } from "../http/route.ts";
import type { Authenticate, AuthenticatorOptions } from "../http/auth/authentication.ts";
import type { ServerType } from "../server/server-type.ts";
import type { Inject, Injected, Service } from "./service.ts";
import type { Socket } from "../http/route.ts";
import type { Stage } from "../call/stages.ts";
import type { Json, Principal } from "../call/types.ts";

/** The door a plugin's `setup` receives. Everything registered here is data of the plugin's scope and goes with it. */
export interface PluginContext<C = unknown, I extends Inject = Inject> {
  /** The plugin's name: prefix of its logs and metrics, and server name of its tools. */
  readonly name: string;
  /** Validated options from the gateway config. */
  readonly config: C;
  /** Values of the `inject` map. */
  readonly services: Injected<I>;
  /** Every server of the running gateway by name, upstreams and plugins alike; live. */
  readonly servers: ReadonlyMap<string, Server>;
  readonly log: Logger;
  /** Directory that relative paths in the config start from: that of the file, if there is one. */
  readonly cwd: string;
  /**
   * Reads a text file, by a path relative to {@link cwd}. From then on the file belongs to the plugin: when its content changes,
   * the next reload sets the plugin up anew, and a gateway that watches its config reloads by itself. For `setup`.
   * @throws {GatewayError} `io_error` when it cannot be read; it belongs to the plugin all the same
   */
  text(path: string): Promise<string>;
  /**
   * Imports a TypeScript or JavaScript file, as it is on disk now; it and what it imports belong to the plugin as for {@link text}.
   * @throws {GatewayError} `io_error` when there is none; `invalid` when it does not load
   */
  code(path: string): Promise<Readonly<Record<string, unknown>>>;
  /** This scope's own metrics; merged at scrape and dropped with the scope. */
  readonly metrics: Registry;
  /** Aborts when the scope is disposed. */
  readonly signal: AbortSignal;
  tool<S extends ToolSchema>(name: string, definition: ToolDefinition<S>): void;
  resource(definition: ResourceDefinition): void;
  resourceTemplate(definition: ResourceTemplateDefinition): void;
  prompt(definition: PromptDefinition): void;
  /** Tells clients that one of this plugin's lists changed. */
  changed(list: "tools" | "resources" | "prompts"): void;
  /** Tells subscribed clients that a resource of this plugin changed. */
  updated(uri: string): void;
  /** Adds a whole server, e.g. one whose tools come and go; it joins the catalogue like an upstream. */
  server(server: Server): void;
  route(method: RouteMethod, path: string, options: RouteOptions, handler: RouteHandler): void;
  /**
   * Tells whoever runs the gateway of something that works but should not stay so: `propylon check`, the start-up summary and
   * status pages show it.
   */
  warn(warning: Omit<GatewayWarning, "code">): void;
  /**
   * Holds `GET /readyz` at 503 while something is missing without which this gateway should get no traffic. Every listener tells
   * it, to everybody who asks with `?verbose`; `/livez` does not change, so an orchestrator restarts nothing for it.
   * @param what names it in the answer, in a word or two
   * @param missing asked for every such request, at once: the reason as a sentence without anything private, or `undefined` when
   * all is there. A throw counts as missing.
   */
  readiness(what: string, missing: () => string | undefined): void;
  /** Brings a listener, under a name that routes and endpoints can give. The gateway opens, keeps and closes it. */
  listener(name: string, settings: ListenerInput): void;
  /** Brings an MCP endpoint, as if it stood in the config's `endpoints`. */
  endpoint(name: string, settings: EndpointInput): void;
  /**
   * Accepts WebSocket connections on a path, which may have parameters, e.g. `/rooms/:id`. Host, Origin and access are checked
   * before `accept` is called.
   */
  socket(path: string, options: RouteOptions, accept: (socket: Socket) => void): void;
  /** Serves the gateway's endpoints; one plugin at most. */
  serveEndpoints(create: (host: EndpointHost) => EndpointServer): void;
  /** Serves the entries of `servers` with this `type`. */
  serverType<T>(type: string, definition: ServerType<T>): void;
  /**
   * Hides things from the lists of every face, for everybody. Asked while a list is built, never per request: call the function it returns
   * when its answers changed, and lists are rebuilt and clients told. Hiding refuses no call; that is for the stage `gate`.
   */
  filter(shows: (item: Listed) => boolean): () => void;
  /**
   * Decides by principal what exists at all. What it hides from somebody is in none of their lists, documents and completions, and
   * a call, read or subscription of it is answered as for a name that nobody has. Asked once per view while it is built, and for
   * what no list names (a resource that is read, a call over HTTP) when it is asked for; a throw hides.
   *
   * Call the function it returns when its answers changed: from then on every request meets the new ones, and clients whose view
   * differs are told. A principal whose `viewOf` changed sees its new view with its next request, told or not.
   *
   * @param shows must answer alike for all principals of one view
   * @param options.viewOf names what a principal sees, e.g. its role, in a word: few views are cheap, at most 1,000 are kept. Asked
   * with every request, so it looks nothing up. For one that it cannot tell it throws: that one sees nothing
   * @example
   * gateway.filter((item, { roles }) => roles.has("admin") || item.server !== "payroll", {
   *   viewOf: ({ roles }) => (roles.has("admin") ? "admin" : "other"),
   * });
   */
  filter(
    shows: (item: Listed, principal: Principal) => boolean,
    options: { readonly viewOf: (principal: Principal) => string },
  ): () => void;
  /** Whether every plugin's filter shows something to a principal, for faces that a plugin brings. */
  shows(item: Listed, principal: Principal): boolean;
  /**
   * Whether something is there at all for a principal, as filters decide that look at principals, for faces whose requests name
   * things: what is not there is answered like a name that nobody has. `gateway.call` asks it by itself.
   */
  exists(item: Listed, principal: Principal): boolean;
  /**
   * Decides how long calls may run, in place of the core's own rule. One plugin at most. Asked once per call, behind the gate;
   * a throw refuses the call.
   */
  deadline(of: (call: Call) => Deadline): void;
  /** What is set about how long a call may run, for a rule of {@link deadline}; always of the config in force. */
  timeouts(call: Pick<Call, "method" | "server" | "name">): Timeouts;
  /**
   * Joins those who tell who makes a request. The keys and tokens of the config's `auth` are asked first, then the authenticators
   * of plugins in the order of the plugins, each until one knows the credentials; see {@link Authenticate}. When the plugin leaves,
   * what its principals have open ends.
   *
   * @param name unique in the gateway, in lower case with hyphens; `GET /_meta` shows it
   * @example
   * gateway.authenticator("directory", ({ headers }) => {
   *   const token = /^Bearer (dir_\S+)$/.exec(String(headers["authorization"]))?.[1];
   *   if (token === undefined) return undefined; // not mine
   *   const person = directory.find(token);
   *   if (!person) throw new GatewayError("unauthorized", "The directory does not know this token.");
   *   return { id: person.id, kind: "user", roles: new Set(["caller"]), expiresAt: person.until };
   * });
   */
  authenticator(name: string, authenticate: Authenticate, options?: AuthenticatorOptions): void;
  /** The gateway as a whole: describe, reload, edit, reconnect. Changes are for `onStart` and later. */
  readonly control: Control;
  /** Joins a stage of the pipeline. Within one stage the order is that of the plugins (service graph, then name). */
  use(stage: Stage, middleware: Middleware): void;
  hook<K extends keyof GatewayHooks>(name: K, listener: GatewayHooks[K]): void;
  /**
   * Tells everyone who listens to a hook of this plugin.
   * @throws {GatewayError} `invalid` for a hook of the core, which only the core emits
   */
  emit<K extends PluginHook>(name: K, ...args: Parameters<GatewayHooks[K]>): void;
  /**
   * Writes to the audit what this plugin did: the log line `mutation` and the hook of that name, as for a request that changes
   * something. Who did it is not the plugin's to say: it is whoever made the request or call that is given.
   *
   * @param action a short name such as `stop`; the line says `<plugin>:stop`
   * @param target what it was done to, e.g. `{ agent: id }`; at most 32 values, each cut at 200 characters
   * @param details what else is worth knowing, never a body: secrets are masked by their names, texts are cut at 200 characters,
   * levels below the fourth and members beyond the 32nd of one level are left out, as is all beyond 4,096 characters
   * @param on the request or call on whose behalf it is done, as the route handler or the tool received it; default, and for an
   * object that the gateway did not hand out: the plugin itself
   * @throws {GatewayError} `invalid` for an action that is no short name
   * @example gateway.audit("stop", { agent: id }, { reason: "requested" }, event);
   */
  audit(
    action: string,
    target: Readonly<Record<string, string>>,
    details?: Json,
    on?: RouteEvent | Call,
  ): void;
  /**
   * Calls a tool through the same pipeline as every client. Available once started. With `peer` it answers what the tool asks: by
   * requests in the middle of the call, and by `input_required`, whereupon the call is made again with the answers.
   */
  call(input: CallInput): Promise<Answer>;
  /** Ends what principals have open, because a right was taken away; as {@link Gateway.evict}. */
  evict(match: (principal: Principal) => boolean, reason: string, options?: EvictOptions): Evicted;
  /**
   * A value that survives reloads of this plugin: made once, kept by key, dropped when the plugin leaves the config.
   * @param dispose called with the value when it is dropped
   */
  keep<T>(key: string, create: () => T, dispose?: (value: T) => void | Promise<void>): T;
  /** Opens things once everything is set up; the function it returns undoes it at dispose. */
  onStart(start: () => void | Undo | Promise<void | Undo>): void;
  /** Runs at dispose, last registered first; every one runs even when another throws. */
  onDispose(undo: Undo): void;
}

/** Undoes a start. */
export type Undo = () => void | Promise<void>;

/** A plugin as written; see {@link definePlugin}. */
export interface PluginDefinition<C = unknown, I extends Inject = Inject, P = unknown> {
  /** Kebab-case; unique in a gateway. */
  readonly name: string;
  /** Strict zod schema of the options; default: no options. Validates before `setup`, completes YAML, documents itself. */
  readonly config?: ZodType<C>;
  readonly inject?: I;
  /** The service that `setup` returns. */
  readonly provides?: Service<P>;
  /** Schemas of the kinds of server that it brings, by `type`, for editors; those given to {@link PluginContext.serverType}. */
  readonly serverTypes?: Readonly<Record<string, ZodType>>;
  /**
   * Commands for the command line `propylon`, by name: lower-case words with hyphens. They run without a gateway: nothing is set
   * up for them, not even this plugin. Import what only they need when they run.
   */
  readonly commands?: Readonly<Record<string, CommandDefinition>>;
  /**
   * Names of the optional packages (optional peers of the plugin's own package) that it imports with these options. A build to
   * one file holds those and no others, and fails when one is not installed. Default, and where it is only known when it runs
   * (`undefined`): all that are installed.
   */
  packages?(config: C): readonly string[] | undefined;
  /** Registers; must not open anything (that is for `onStart`). */
  setup(gateway: PluginContext<C, I>): P | Promise<P>;
}

/** A plugin of any type, as the host handles it. */
// eslint-disable-next-line typescript/no-explicit-any -- variance: the host checks config and services at run time
export type AnyPlugin = PluginDefinition<any, any, any>;

/**
 * Types a plugin. `config`, `inject` and `provides` decide the types of `gateway.config`, `gateway.services` and of what
 * `setup` must return.
 *
 * @example
 * export default definePlugin({
 *   name: "echo",
 *   config: z.strictObject({ greeting: z.string().default("hello") }),
 *   setup(gateway) {
 *     gateway.tool("echo", { description: "Says it back.", input: z.object({ text: z.string() }), run: ({ text }) => text });
 *   },
 * });
 */
export function definePlugin<C = undefined, I extends Inject = {}, P = void>(
  definition: PluginDefinition<C, I, P>,
): PluginDefinition<C, I, P> {
  return definition;
}
