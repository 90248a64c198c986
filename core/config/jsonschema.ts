import { z } from "zod";
import type { AnyPlugin } from "../plugin.ts";
import { configSchema } from "./schema.ts";
import type { Shape } from "./shape.ts";

/** A JSON Schema object of draft 2020-12. */
export type JsonSchema = Record<string, unknown>;

/** The config as validation knows it, for hints about keys and values. */
export function configShape(): Shape {
  return z.toJSONSchema(configSchema, { io: "input" }) as Shape;
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
  const options = properties["plugins"]!;
  const described = Object.entries(plugins).map(
    ([key, plugin]) => [key, pluginOptions(plugin)] as const,
  );
  options["properties"] = Object.fromEntries(described);
  const agents = plugins["agents"]?.config && agentsOption(plugins["agents"]);
  if (agents) properties["agents"] = agents;
  // Top-level keys beginning with x- hold anchors; the loader drops them.
  schema["patternProperties"] = { "^x-": {} };
  // What a variable fills in is text first: ${PORT} may stand where a number is wanted.
  return { ...(acceptVariables(schema) as JsonSchema), title: "Propylon gateway config" };
}

/** What stands at the top as `agents`. */
function agentsOption({ config }: AnyPlugin): JsonSchema | undefined {
  const { properties } = z.toJSONSchema(config!, { io: "input", unrepresentable: "any" });
  return properties?.["agents"] as JsonSchema | undefined;
}

function pluginOptions(plugin: AnyPlugin): JsonSchema {
  const off = [{ type: "boolean" }, { type: "null" }];
  if (plugin.config === undefined)
    return { anyOf: [{ type: "object", additionalProperties: false }, ...off] };
  const { $schema: _, ...options } = z.toJSONSchema(plugin.config, {
    io: "input",
    unrepresentable: "any",
  }) as JsonSchema;
  return { anyOf: [options, ...off] };
}

const VARIABLE = { type: "string", pattern: "^\\$\\{[^}]+\\}$" };

function acceptVariables(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(acceptVariables);
  if (typeof node !== "object" || node === null) return node;
  const schema = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      key === "default" ? value : acceptVariables(value),
    ]),
  );
  const { type, description, default: fallback, ...rest } = schema;
  if (type !== "integer" && type !== "number" && type !== "boolean") return schema;
  const outer = {
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
  };
  return { ...outer, anyOf: [{ type, ...rest }, VARIABLE] };
}
