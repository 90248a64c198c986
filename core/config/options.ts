import { z } from "zod";
import type { Shape } from "./shape.ts";
import { writeValue } from "./units.ts";

/** An option of a plugin, as somebody writes it. */
export interface PluginOption {
  /** Keys from the plugin's own on, e.g. `results.preview`; `<name>` stands for names that a person gives, `[]` for items of a list. */
  readonly path: string;
  /** As one would write it, a duration or size with its unit; `undefined` without one. */
  readonly default: unknown;
  readonly description: string | undefined;
  readonly required: boolean;
}

/**
 * Every option that a plugin's schema has, in its order; a group stands before what is in it.
 *
 * @param schema the plugin's `config`; without one it has no options
 */
export function listOptions(schema: z.ZodType | undefined): readonly PluginOption[] {
  if (schema === undefined) return [];
  const root = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // Of what is read as something else, such as a duration, zod leaves the default out.
      if (def.type === "default") jsonSchema.default = writeValue(zodSchema, def.defaultValue);
    },
  }) as Shape;
  const options = optionsBelow(root, "");
  return [...new Map(options.map((option) => [option.path, option])).values()];
}

function optionsBelow(node: Shape, prefix: string): readonly PluginOption[] {
  const own = Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const path = `${prefix}${key}`;
    const option: PluginOption = {
      path,
      default: child.default,
      description: child.description,
      required: node.required?.includes(key) ?? false,
    };
    return [option, ...optionsBelow(child, `${path}.`)];
  });
  const branches = [...(node.anyOf ?? []), ...(node.oneOf ?? [])];
  const named = typeof node.additionalProperties === "object" ? [node.additionalProperties] : [];
  return [
    ...own,
    ...branches.flatMap((branch) => optionsBelow(branch, prefix)),
    ...named.flatMap((child) => optionsBelow(child, `${prefix}<name>.`)),
    ...(node.items ? optionsBelow(node.items, `${prefix.replace(/\.$/, "")}[].`) : []),
  ];
}
