import type { OpenStore } from "../store/driver.ts";
import type { endpointSchema, listenerSchema } from "../config/schema.ts";
import type { Call } from "../call/call.ts";
import type { ZodType, infer as Infer, input as ZodInput } from "zod";
import type { Json } from "../kit/types.ts";

/**
 * What a tool may return: text, a full MCP result (`content` array, or `resultType`), any other object, which becomes
 * `structuredContent` plus its JSON text, or a list, which becomes JSON text alone.
 *
 * @example const report = (found: string[]): ToolReturn => ({ found, count: found.length });
 */
export type ToolReturn = string | Json | readonly unknown[];

/**
 * A schema of tool arguments: a zod object, or JSON Schema as it goes over the wire.
 *
 * @example const input: ToolSchema = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
 */
export type ToolSchema = ZodType<Json> | Json;

/**
 * Arguments as the tool receives them.
 *
 * @example
 * const input = z.object({ text: z.string() });
 * const shout = ({ text }: ToolArgs<typeof input>): string => text.toUpperCase();
 */
export type ToolArgs<S> = S extends ZodType ? Infer<S> : Json;

/**
 * A tool that a plugin registers with `gateway.tool(name, definition)`.
 *
 * @example
 * const now: ToolDefinition = { description: "Tells the time.", run: () => new Date().toISOString() };
 * gateway.tool("now", now);
 */
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

/**
 * A resource, or with `uriTemplate` every one whose URI fits a template (RFC 6570 level 1 expressions), that a plugin registers with
 * `gateway.resource(name, definition)`.
 *
 * @example
 * const build: ResourceDefinition = {
 *   uriTemplate: "build://{id}",
 *   read: async ({ id }) => ({ text: await logOf(id!), mimeType: "text/plain" }),
 * };
 * gateway.resource("build", build);
 */
export type ResourceDefinition = {
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** Bytes. */
  readonly size?: number;
  /** MCP hints such as `audience` and `priority`. */
  readonly annotations?: Json;
  readonly icons?: readonly Json[];
  readonly _meta?: Json;
  /** @param variables values of the template's expressions, percent-decoded; `{}` for a `uri` */
  read(
    variables: Readonly<Record<string, string>>,
    call: Call,
  ):
    | ResourceContent
    | readonly ResourceContent[]
    | Promise<ResourceContent | readonly ResourceContent[]>;
} & (
  | { readonly uri: string; readonly uriTemplate?: undefined }
  | {
      readonly uriTemplate: string;
      readonly uri?: undefined;
      /** Suggestions for a variable (`completion/complete`). */
      complete?(
        variable: string,
        value: string,
        call: Call,
      ): readonly string[] | Promise<readonly string[]>;
    }
);

/**
 * A prompt that a plugin registers with `gateway.prompt(name, definition)`.
 *
 * @example
 * const review: PromptDefinition = {
 *   arguments: [{ name: "file", required: true }],
 *   get: ({ file }) => ({ role: "user", content: { type: "text", text: `Review ${file}.` } }),
 * };
 * gateway.prompt("review", review);
 */
export interface PromptDefinition {
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Json[];
  readonly _meta?: Json;
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

/**
 * Tells clients about something that a plugin registered.
 *
 * @example
 * const tool = gateway.tool("find", definition);
 * index.on("ready", () => tool.changed());
 */
export interface Handle {
  /** What clients list of it is another now: the lists are made again, with all that was registered since, and clients told. */
  changed(): void;
}

/**
 * Tells clients about a resource that a plugin registered.
 *
 * @example
 * const status = gateway.resource("status", { uri: "build://status", read: () => ({ text: last }) });
 * builds.on("end", () => status.updated());
 */
export interface ResourceHandle extends Handle {
  /**
   * What it holds is another now: clients that subscribed to it are told.
   * @param uri default: the resource's own; a template needs one
   * @throws {GatewayError} `invalid` for a template without one
   */
  updated(uri?: string): void;
}

/** A definition with its name. */
export interface NamedDefinition<T> {
  readonly name: string;
  readonly definition: T;
}

/** The parts of a scope that make up a server. */
export interface LocalDefinitions {
  readonly tools: NamedDefinition<ToolDefinition>[];
  readonly resources: NamedDefinition<Extract<ResourceDefinition, { readonly uri: string }>>[];
  readonly resourceTemplates: NamedDefinition<
    Extract<ResourceDefinition, { readonly uriTemplate: string }>
  >[];
  readonly prompts: NamedDefinition<PromptDefinition>[];
}

/**
 * Settings of a listener, as in the config's `listeners`.
 *
 * @example
 * const listener: ListenerInput = { host: "127.0.0.1", port: 9090 };
 * gateway.add(Listeners, { name: "inside", ...listener });
 */
export type ListenerInput = ZodInput<typeof listenerSchema>;

/**
 * Settings of an MCP endpoint, as in the config's `endpoints`.
 *
 * @example
 * const endpoint: EndpointInput = { path: "/research", servers: ["search"], naming: "none" };
 * gateway.add(Endpoints, { name: "research", ...endpoint });
 */
export type EndpointInput = ZodInput<typeof endpointSchema>;

/**
 * A name in a plugin's options that stands for another part of the config; see {@link PluginNeeds}.
 *
 * @example const reference: OptionReference = { path: ["server"], kind: "server", name: config.server, by: "The cache" };
 */
export interface OptionReference {
  /** Where it stands, from the plugin's options on. */
  readonly path: readonly (string | number)[];
  readonly kind: "server" | "listener";
  readonly name: string;
  /** Who names it, to begin a sentence with: `The agent "research"`. */
  readonly by: string;
  /** Names that are right too. */
  readonly also?: readonly string[];
}

/**
 * A name in a plugin's options that selects servers, tools or keys; see {@link PluginNeeds}. `*` stands for any text.
 *
 * @example
 * const rule: OptionSelector = { path: ["deny", 0], kind: "tool", server: "files", name: "rm_*", by: "The rule", isStrict: true };
 */
export interface OptionSelector {
  /** Where it stands, from the plugin's options on. */
  readonly path: readonly (string | number)[];
  /** `key`: a name in `auth.keys`. A server is looked for when all plugins are set up, a tool when its server has listed its own. */
  readonly kind: "server" | "tool" | "key";
  readonly name: string;
  /** Of a tool: its server. */
  readonly server?: string;
  /** Other readings of the same text, of the same kind: one that fits is enough. */
  readonly readings?: readonly Pick<OptionSelector, "name" | "server">[];
  /** Who names it, to begin a sentence with: `The rule access[0]`. */
  readonly by: string;
  /** Whether a name that nothing has is an error, as where it keeps somebody out; else it is a warning. A tool is always one. */
  readonly isStrict: boolean;
}

/**
 * Something that some stores can do and others cannot: `queue`, hand out work (`Store.queue`); `tables`, hold tables of SQL
 * (`dialect()` of the driver). A build of one file brings Kysely only where a kind of store names `tables`.
 *
 * @example const abilities: readonly StoreAbility[] = ["queue"];
 */
export type StoreAbility = "queue" | "tables";

/**
 * An option that needs more of the gateway's store than every store can do; see {@link PluginNeeds}.
 *
 * @example const need: StoreNeed = { path: ["execution"], ability: "queue", by: "plugins.works.execution is queue" };
 */
export interface StoreNeed {
  /** Where it stands, from the plugin's options on. */
  readonly path: readonly (string | number)[];
  readonly ability: StoreAbility;
  /** What the option says, to begin a sentence with. */
  readonly by: string;
}

/**
 * A kind of store that a plugin brings. The gateway opens it before plugins are set up, and closes it last.
 *
 * @example const stores: Record<string, StoreKind> = { redis: { open: (url, host) => RedisDriver.open(url, host) } };
 */
export interface StoreKind {
  readonly open: OpenStore;
  /** What it can do that not every store can. Options that need something else are refused with it. Default: nothing. */
  readonly abilities?: readonly StoreAbility[];
}

/**
 * What the options of a plugin need of what is around it. Every check tells what is missing, at its place; of packages, a build tells it.
 *
 * @example
 * const needs = ({ guard }: Options): PluginNeeds => ({
 *   references: guard === undefined ? [] : [{ path: ["guard"], kind: "server", name: guard, by: "The room" }],
 * });
 */
export interface PluginNeeds {
  /** Names of servers and listeners in the options; each has to exist. */
  readonly references?: readonly OptionReference[];
  /**
   * Names in the options that select servers, tools or keys. One that selects nothing is told with the nearest name: a mistyped name
   * in a rule that denies would let everybody in.
   */
  readonly selectors?: readonly OptionSelector[];
  /** Options that not every store can serve. */
  readonly store?: readonly StoreNeed[];
  /**
   * Names of the optional packages (optional peers of the plugin's own package) that it imports with these options. A build to
   * one file holds those and no others, and fails when one is not installed. Left out or `undefined`, e.g. because it is
   * only known when it runs: all that are installed.
   */
  readonly packages?: readonly string[] | undefined;
}
