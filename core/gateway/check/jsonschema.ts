import { z } from "zod";
import type { AnyPlugin } from "../../plugin/plugin.ts";
import { SPELLINGS } from "./clients.ts";
import { configSchema } from "../../config/schema.ts";
import { ENTRY_TYPES, entryCommon, serverSchema } from "../../config/server-schema.ts";
import { inputShape } from "../../config/config.ts";
import { isCoreKey, sectionOf, type Section } from "./sections.ts";
import type { Shape } from "../../config/shape.ts";

/** A JSON Schema object of draft 2020-12. */
export type JsonSchema = Record<string, unknown>;

let known: Shape | undefined;

/** The config as validation knows it, for hints about keys and values. */
export function configShape(): Shape {
  return (known ??= z.toJSONSchema(configSchema, { io: "input" }) as Shape);
}

/** A type of servers, and all types of the plugin that brings it: a key of another one is not a slip of the pen. */
export interface EntryType {
  readonly schema: z.ZodType;
  readonly beside: readonly z.ZodType[];
}

/** What every entry of `servers` may have. */
export const COMMON_ENTRY = z.object(entryCommon);

/** As {@link configShape}, with what entries of some types may have. */
export function shapeWith(types: Iterable<EntryType>): Shape {
  const schemas = new Set([...types].flatMap(({ schema, beside }) => [schema, ...beside]));
  const entry: Shape = {
    properties: inputShape(COMMON_ENTRY).properties ?? {},
    anyOf: [...schemas].map(inputShape),
  };
  const { properties = {}, ...shape } = configShape();
  const servers = { ...properties["servers"], additionalProperties: entry };
  return { ...shape, properties: { ...properties, servers } };
}

/**
 * JSON Schema of a gateway config as people write it, for completion and checks in editors.
 *
 * @param plugins installed plugins by their config key; their options are described too
 */
export function configJsonSchema(plugins: Readonly<Record<string, AnyPlugin>> = {}): JsonSchema {
  const schema = z.toJSONSchema(configSchema, { io: "input" }) as JsonSchema & {
    properties: Record<string, JsonSchema>;
  };
  const { properties } = schema;
  properties["$schema"] = { type: "string", description: "Where editors find this schema." };
  properties["mcpServers"] = {
    type: "object",
    description: "Servers as other MCP clients write them, pasted as they are.",
    additionalProperties: { type: "object" },
  };
  properties["servers"] = { ...properties["servers"], additionalProperties: serverEntry(plugins) };
  const options = properties["plugins"]!;
  const described = Object.entries(plugins).map(
    ([key, plugin]) => [key, pluginOptions(plugin)] as const,
  );
  options["properties"] = Object.fromEntries(described);
  for (const plugin of Object.values(plugins)) {
    const section = sectionOf(plugin);
    if (section && !isCoreKey(section.key))
      properties[section.key] = sectionOptions(plugin, section);
  }
  properties["extends"] = LAYERS;
  properties["$env"] = {
    type: "object",
    description: "As $<name>, for environments of any name.",
    additionalProperties: { $ref: "#" },
  };
  // Top-level keys beginning with x- hold anchors; the loader drops them.
  schema["patternProperties"] = { "^x-": {}, "^\\$(?!schema$|env$)": { $ref: "#" } };
  // What a variable fills in is text first: ${PORT} may stand where a number is wanted.
  return { ...(acceptVariables(schema) as JsonSchema), title: "Propylon gateway config" };
}

const LAYERS: JsonSchema = {
  anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }],
  description:
    "Configs that this one is laid over: paths from its folder, or installed packages. The first is the strongest.",
};

/** What stands in a section: the options of its plugin, or one of them. */
function sectionOptions(plugin: AnyPlugin, { option }: Section): JsonSchema {
  if (option === undefined || plugin.config === undefined) return pluginOptions(plugin);
  return shapeOf(plugin.config).properties[option] ?? {};
}

/** Those of a plugin that reads a section of the gateway stand there alone. */
function pluginOptions(plugin: AnyPlugin): JsonSchema {
  const off = [{ type: "boolean" }, { type: "null" }];
  const isApart = isCoreKey(sectionOf(plugin)?.key ?? "");
  if (plugin.config === undefined || isApart)
    return { anyOf: [{ type: "object", additionalProperties: false }, ...off] };
  const { $schema: _, ...options } = z.toJSONSchema(plugin.config, {
    io: "input",
    unrepresentable: "any",
  }) as JsonSchema;
  return { anyOf: [options, ...off] };
}

/** A text that a variable is to fill in wholly, e.g. `${PORT:-8080}`. */
const VARIABLE = { type: "string", pattern: "^\\$\\{.+\\}$" };
/** A text with a variable anywhere. */
const WITH_VARIABLE = { type: "string", pattern: "\\$\\{.+\\}" };
const LIMITS = ["format", "pattern", "minLength", "maxLength", "enum", "const"] as const;

/** Keywords whose value is data, or about names, which no variable fills in. */
const UNTOUCHED: ReadonlySet<string> = new Set(["default", "enum", "const", "propertyNames"]);

/** What a variable fills in is text first, and what it will be nobody knows before: neither numbers nor limits can be asked of it. */
function acceptVariables(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(acceptVariables);
  if (typeof node !== "object" || node === null) return node;
  const schema = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      UNTOUCHED.has(key) ? value : acceptVariables(value),
    ]),
  );
  const variable = variableFor(schema);
  if (!variable) return schema;
  const { description, default: fallback, ...rest } = schema;
  return {
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
    anyOf: [rest, variable],
  };
}

function variableFor(schema: JsonSchema): object | undefined {
  const { type } = schema;
  if (type === "integer" || type === "number" || type === "boolean") return VARIABLE;
  return type === "string" && LIMITS.some((key) => key in schema) ? WITH_VARIABLE : undefined;
}

/** Keys of other clients that an entry of `servers` may have. */
const FOREIGN = {
  type: { enum: SPELLINGS, description: "The transport, as other clients name it." },
  disabled: { type: "boolean", description: "The opposite of enabled, as other clients write it." },
  disabledTools: { type: "array", items: { type: "string" }, description: "As tools.exclude." },
};

/**
 * An entry of `servers`, told apart by what it has: of a choice of several an editor could only say that none fits, where a key is
 * spelt wrong.
 */
function serverEntry(plugins: Readonly<Record<string, AnyPlugin>>): JsonSchema {
  const brought = Object.values(plugins).flatMap(({ serverTypes = {} }) =>
    Object.entries(serverTypes),
  );
  const types = new Map(brought.map(([type, schema]) => [type, shapeOf(schema)]));
  const { type, ...common } = shapeOf(serverSchema).properties;
  const entry = (own: JsonSchema & { properties?: object }, more: object): JsonSchema => ({
    ...own,
    properties: { ...own.properties, ...common, ...more },
  });
  const mcp = (name: string, address: string, more?: object): JsonSchema => ({
    ...entry(types.get(name) ?? { type: "object" }, { ...FOREIGN, ...more }),
    required: [address],
  });
  const named = [...types].filter(([name]) => !ENTRY_TYPES.includes(name));
  const unknown = { properties: { type: { not: { enum: SPELLINGS } } }, required: ["type"] };
  const branches: [condition: JsonSchema, entry: JsonSchema][] = [
    ...named.map(([name, own]): [JsonSchema, JsonSchema] => [
      { properties: { type: { const: name } }, required: ["type"] },
      entry(own, { type: { const: name, description: type!["description"] } }),
    ]),
    [unknown, shapeOf(serverSchema)],
    [{ required: ["url"] }, mcp("http", "url")],
    [
      { required: ["serverUrl"] },
      mcp("http", "serverUrl", { serverUrl: { type: "string", description: "As url." } }),
    ],
  ];
  const choose = (rest: JsonSchema, [when, then]: [JsonSchema, JsonSchema]): JsonSchema => ({
    if: when,
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then,
    else: rest,
  });
  return { type: "object", ...branches.reduceRight(choose, mcp("stdio", "command")) };
}

/** What may be written for a schema, as JSON Schema. */
export function shapeOf(
  schema: z.ZodType,
): JsonSchema & { properties: Record<string, JsonSchema> } {
  const { $schema: _, ...shape } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return { properties: {}, ...shape } as ReturnType<typeof shapeOf>;
}
