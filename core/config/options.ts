import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import type { Shape } from "./shape.ts";
import { inputShape } from "./written.ts";

/** An option of a plugin, as somebody writes it. */
export interface PluginOption {
  /** Keys from the plugin's own on, e.g. `results.maxPreview`; `<name>` stands for names that a person gives, `[]` for items of a list. */
  readonly path: string;
  /** As one would write it, a duration or size with its unit; `undefined` without one. */
  readonly default: unknown;
  readonly description: string | undefined;
  readonly required: boolean;
  /** What may stand there: one for each form that it can have. */
  readonly shapes: readonly Shape[];
}

/**
 * Every option that a plugin's schema has, in its order; a group stands before what is in it.
 *
 * @param schema the plugin's `config`; without one it has no options
 */
export function listOptions(schema: z.ZodType | undefined): readonly PluginOption[] {
  return schema === undefined ? [] : joinOptions(optionsBelow(inputShape(schema), ""));
}

/** Options with one of each path: what a choice of several groups has in common is one option. */
export function joinOptions(options: readonly PluginOption[]): readonly PluginOption[] {
  const joined = new Map<string, PluginOption>();
  for (const option of options) {
    const other = joined.get(option.path);
    joined.set(option.path, other ? joinTwo(other, option) : option);
  }
  return [...joined.values()];
}

/** A default that not both have cannot be told in a word. */
function joinTwo(left: PluginOption, right: PluginOption): PluginOption {
  return {
    path: left.path,
    default: isDeepStrictEqual(left.default, right.default) ? left.default : undefined,
    description: left.description ?? right.description,
    required: left.required && right.required,
    shapes: [...left.shapes, ...right.shapes],
  };
}

function optionsBelow(node: Shape, prefix: string): readonly PluginOption[] {
  const own = Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const path = `${prefix}${key}`;
    const option: PluginOption = {
      path,
      default: child.default,
      description: child.description,
      required: node.required?.includes(key) ?? false,
      shapes: [child],
    };
    return [option, ...optionsBelow(child, `${path}.`)];
  });
  const branches = [...(node.anyOf ?? []), ...(node.oneOf ?? [])];
  const named = typeof node.additionalProperties === "object" ? [node.additionalProperties] : [];
  return [
    ...own,
    ...chosenBelow(branches, prefix),
    ...named.flatMap((child) => optionsBelow(child, `${prefix}<name>.`)),
    ...(node.items ? optionsBelow(node.items, `${prefix.replace(/\.$/, "")}[].`) : []),
  ];
}

/** Of a choice of several groups an option is required that all of them require. */
function chosenBelow(branches: readonly Shape[], prefix: string): readonly PluginOption[] {
  const groups = branches.filter(({ properties }) => properties !== undefined);
  const isInAll = (path: string): boolean => {
    const [key] = path.slice(prefix.length).split(/[.[]/);
    return groups.every(({ properties = {} }) => Object.hasOwn(properties, key!));
  };
  return branches
    .flatMap((branch) => optionsBelow(branch, prefix))
    .map((option) => ({ ...option, required: option.required && isInAll(option.path) }));
}
