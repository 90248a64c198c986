import type { IncomingHttpHeaders } from "node:http";
import type { H3Event } from "h3";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { ZodType, infer as Infer, input as ZodInput } from "zod";
import type { Answer } from "./answer.ts";
import type { endpointSchema, listenerSchema } from "./config/schema.ts";
import type { Control } from "./control.ts";
import type { GatewayWarning } from "./host/describe.ts";
import type { GatewayHooks } from "./hooks.ts";
import type { Cancellation } from "./cancellation.ts";
import type { Catalogue, Provider } from "./provider.ts";
import type { Inject, Injected, Service } from "./service.ts";
import type { Stage } from "./stages.ts";
import type {
  Call,
  CallInput,
  Json,
  Middleware,
  Principal,
  Prompt,
  Resource,
  ResourceTemplate,
} from "./types.ts";

/**
 * Who may use a route. Required on every route: one that says nothing does not compile (architecture 1.6). `public` is everyone,
 * `principal` whoever proved who they are; `viewer`, `caller`, `operator` and `admin` are roles, each with the rights of those
 * before it; `service` is for other services of the team, and for `admin`.
 */
export type Access =
  | "public"
  | "principal"
  | "viewer"
  | "caller"
  | "operator"
  | "service"
  | "admin";

/** The policy of a route. */
export interface RouteOptions {
  readonly access: Access;
  /** Whether a request changes anything; read-only mode refuses those that do (M127). */
  readonly mutates: boolean;
  /**
   * Whether the route belongs to the management of the gateway: it is there only while `management.enabled` (M159), and one that
   * mutates answers only with `management.mutations` (C47). Default false.
   */
  readonly management?: boolean;
  /** Listener by name; default: the first one. */
  readonly listener?: string;
  /** Largest request body in bytes; default: the gateway's `limits.body`. */
  readonly bodyLimit?: number;
  /**
   * A way around the router, which costs more than a relayed call: asked with the head of a request whether it answers this one
   * itself. Only for a route `POST /:a/:b` for callers that changes nothing; elsewhere it is not asked.
   */
  readonly direct?: (head: DirectHead) => DirectHandler | undefined;
}

/** Head of a request that may go around the router. */
export interface DirectHead {
  /** Target as sent: path and query. */
  readonly url: string;
  /** Segments of the path; nothing in them is percent-encoded. */
  readonly segments: readonly [string, string];
  readonly headers: IncomingHttpHeaders;
}

/** A request that goes around the router, once its body is there and its principal was admitted. */
export interface DirectRequest {
  readonly body: Buffer;
  readonly principal: Principal;
  /** Ends when the client goes away. */
  readonly cancellation: Cancellation;
}

/** A JSON answer to a {@link DirectRequest}. */
export interface DirectAnswer {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers a request around the router; what it throws becomes the error envelope. */
export type DirectHandler = (request: DirectRequest) => Promise<DirectAnswer>;

/** Methods a route can have. */
export type RouteMethod = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * What a route handler receives: h3's event, with the principal that the access policy admitted. On a public route somebody
 * without credentials is `anonymous` and has no role.
 */
export interface RouteEvent extends H3Event {
  readonly context: H3Event["context"] & { readonly principal: Principal };
}

/** Answers a request; returns what h3 accepts (object = JSON, string, Response, stream ...). */
export type RouteHandler = (event: RouteEvent) => unknown;

/**
 * What a tool may return: text, a full MCP result (`content` array, or `resultType`), or any other object, which becomes
 * `structuredContent` plus its JSON text.
 */
export type ToolReturn = string | Json;

/** A schema of tool arguments: a zod object, or JSON Schema as it goes over the wire. */
export type ToolSchema = ZodType<Json> | Json;

/** Arguments as the tool receives them. */
export type ToolArgs<S> = S extends ZodType ? Infer<S> : Json;

/** A tool that a plugin registers with `gateway.tool(name, definition)`. */
export interface ToolDefinition<S extends ToolSchema = ToolSchema> {
  readonly title?: string;
  readonly description: string;
  /** Arguments; default: none. Validated before `run`; a mismatch is an `isError` result that names the field. */
  readonly input?: S;
  readonly output?: ToolSchema;
  /** MCP hints such as `readOnlyHint`. */
  readonly annotations?: Json;
  readonly icons?: readonly Json[];
  readonly _meta?: Json;
  /** Longest run in milliseconds; default: the gateway's. */
  readonly timeout?: number;
  /** Does the work. A throw becomes an `isError` result with the message of a GatewayError, else a generic one. */
  run(args: ToolArgs<S>, call: Call): ToolReturn | Promise<ToolReturn>;
}

/** Result members of `resources/read`: text or base64 `blob`. */
export interface ResourceContent {
  readonly uri?: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: string;
  readonly [key: string]: unknown;
}

/** A resource that a plugin registers with `gateway.resource(definition)`. */
export interface ResourceDefinition extends Resource {
  read(
    call: Call,
  ):
    | ResourceContent
    | readonly ResourceContent[]
    | Promise<ResourceContent | readonly ResourceContent[]>;
}

/** A resource template (RFC 6570 level 1 expressions) that a plugin registers with `gateway.resourceTemplate(definition)`. */
export interface ResourceTemplateDefinition extends ResourceTemplate {
  read(
    variables: Readonly<Record<string, string>>,
    call: Call,
  ):
    | ResourceContent
    | readonly ResourceContent[]
    | Promise<ResourceContent | readonly ResourceContent[]>;
  /** Suggestions for a variable (`completion/complete`). */
  complete?(
    variable: string,
    value: string,
    call: Call,
  ): readonly string[] | Promise<readonly string[]>;
}

/** A prompt that a plugin registers with `gateway.prompt(definition)`. */
export interface PromptDefinition extends Prompt {
  readonly arguments?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
  /** Messages, or a whole result (`messages`, or `resultType`). */
  get(
    args: Readonly<Record<string, string>>,
    call: Call,
  ): Json | readonly Json[] | Promise<Json | readonly Json[]>;
  complete?(
    argument: string,
    value: string,
    call: Call,
  ): readonly string[] | Promise<readonly string[]>;
}

/** The door a plugin's `setup` receives. Everything registered here is data of the plugin's scope and goes with it. */
export interface PluginContext<C = unknown, I extends Inject = Inject> {
  /** The plugin's name: prefix of its logs and metrics, and server name of its tools. */
  readonly name: string;
  /** Validated options from the gateway config. */
  readonly config: C;
  /** Values of the `inject` map. */
  readonly services: Injected<I>;
  /** Every server of the running gateway by name, upstreams and plugins alike; live. */
  readonly servers: ReadonlyMap<string, Provider>;
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
  server(provider: Provider): void;
  route(method: RouteMethod, path: string, options: RouteOptions, handler: RouteHandler): void;
  /**
   * Tells whoever runs the gateway of something that works but should not stay so: `propylon check`, the start-up summary and
   * status pages show it.
   */
  warn(warning: Omit<GatewayWarning, "code">): void;
  /**
   * Brings a listener, under a name that routes and endpoints can give. The gateway opens it, keeps it through reloads and
   * closes it.
   */
  listener(name: string, settings: ListenerInput): void;
  /** Brings an MCP endpoint, as if it stood in the config's `endpoints`. */
  endpoint(name: string, settings: EndpointInput): void;
  /**
   * Accepts WebSocket connections on a path, which may have parameters, e.g. `/rooms/:id`. Host, Origin and access are checked
   * before `accept` is called.
   */
  socket(path: string, options: RouteOptions, accept: (socket: Socket) => void): void;
  /** Serves the entries of `servers` with this `type`. */
  serverType<T>(type: string, definition: ServerType<T>): void;
  /**
   * Hides things from the lists of every face. Asked while a list is built, never per request: call the function it returns
   * when its answers changed, and lists are rebuilt and clients told. Hiding refuses no call; that is for the stage `gate`.
   */
  filter(shows: (item: Listed) => boolean): () => void;
  /** Whether every plugin's filter shows something, for faces that a plugin brings. */
  shows(item: Listed): boolean;
  /**
   * Decides how long calls may run, in place of the core's own rule. One plugin at most. Asked once per call, behind the gate;
   * a throw refuses the call.
   */
  deadline(of: (call: Call) => Deadline): void;
  /** What is set about how long a call may run, for a rule of {@link deadline}; always of the config in force. */
  timeouts(call: Pick<Call, "method" | "server" | "name">): Timeouts;
  /** The gateway as a whole: describe, reload, edit, reconnect. Changes are for `onStart` and later. */
  readonly control: Control;
  /** Joins a stage of the pipeline. Within one stage the order is that of the plugins (service graph, then name). */
  use(stage: Stage, middleware: Middleware): void;
  hook<K extends keyof GatewayHooks>(name: K, listener: GatewayHooks[K]): void;
  emit<K extends keyof GatewayHooks>(name: K, ...args: Parameters<GatewayHooks[K]>): void;
  /**
   * Calls a tool through the same pipeline as every client. Available once started. With `peer` it answers what the tool asks: by
   * requests in the middle of the call, and by `input_required`, whereupon the call is made again with the answers.
   */
  call(input: CallInput): Promise<Answer>;
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

/** Settings of a listener, as in the config's `listeners`. */
export type ListenerInput = ZodInput<typeof listenerSchema>;

/** Settings of an MCP endpoint, as in the config's `endpoints`. */
export type EndpointInput = ZodInput<typeof endpointSchema>;

/** Something that a face could list. */
export interface Listed {
  readonly server: string;
  readonly kind: "tool" | "resource" | "resourceTemplate" | "prompt";
  /** Name of the tool or prompt at its own server, the resource's URI, or the template. */
  readonly name: string;
}

/** How long a call may run, in milliseconds. */
export interface Deadline {
  /** From its start to its end. */
  readonly total: number;
  /** Without any progress report; default: no bound. */
  readonly idle?: number;
}

/** How long a call may run as far as its tool, its server and the gateway say, in milliseconds; the first that is set counts. */
export interface Timeouts {
  /** `timeout` of a plugin's own tool. */
  readonly tool?: number;
  /** `servers.<name>.timeout`. */
  readonly server?: number;
  /** `timeouts.default`. */
  readonly default: number;
}

/** One WebSocket connection as a plugin sees it. */
export interface Socket {
  readonly principal: Principal;
  readonly url: URL;
  /** Values of the path's parameters, percent-decoded; `{}` for a plain path. */
  readonly params: Readonly<Record<string, string>>;
  /** Bytes handed to `send` and not sent yet. */
  readonly buffered: number;
  /** Sends a text message; does nothing once closed. */
  send(text: string): void;
  /** @param code RFC 6455 section 7.4; default 1000 */
  close(code?: number, reason?: string): void;
  /** Cuts the connection off without a word, for a peer that reads nothing. */
  terminate(): void;
  onMessage(listener: (text: string) => void): void;
  /** Runs once, whoever closed it. */
  onClose(listener: () => void): void;
}

/** A kind of server that a plugin brings: entries of `servers` with this `type`. */
export interface ServerType<C = unknown> {
  /** Strict schema of an entry, without `type`, `enabled`, `timeout`, `prefix` and `tools`, which every entry has. */
  readonly config: ZodType<C>;
  /**
   * Makes the server; must not open anything (that is for `start`).
   * @param before lists of the server it replaces, to show until its own arrive
   */
  create(name: string, config: C, before?: Catalogue): ManagedProvider;
}

/** A server whose life the gateway looks after: one entry of `servers`, kept through reloads while it does not change. */
export interface ManagedProvider extends Provider {
  /** Starts connecting; returns at once. */
  start(): void;
  /** Ends it after the calls in flight, at most after that many milliseconds. May be called again, with less. */
  close(graceMs: number): Promise<void>;
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
