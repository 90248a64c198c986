import type { endpointSchema, listenerSchema } from "../config/schema.ts";
import type { Call } from "../call/call.ts";
import type { ZodType, infer as Infer, input as ZodInput } from "zod";
import type { Json, Prompt, Resource, ResourceTemplate } from "../call/types.ts";

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

/** The parts of a scope that make up a server. */
export interface LocalDefinitions {
  readonly tools: { readonly name: string; readonly definition: ToolDefinition }[];
  readonly resources: ResourceDefinition[];
  readonly resourceTemplates: ResourceTemplateDefinition[];
  readonly prompts: PromptDefinition[];
}

/** Settings of a listener, as in the config's `listeners`. */
export type ListenerInput = ZodInput<typeof listenerSchema>;

/** Settings of an MCP endpoint, as in the config's `endpoints`. */
export type EndpointInput = ZodInput<typeof endpointSchema>;

/** A name in a plugin's options that stands for another part of the config; see `PluginDefinition.references`. */
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
