import { type AnyPlugin, configSchema } from "propylon";
import { joinOptions, listOptions, type PluginOption } from "../../core/cli/plugin-options.ts";
import { isCoreKey, sectionOf } from "../../core/gateway/check/sections.ts";
import type { Shape } from "../../core/config/shape.ts";
import { page, table } from "./page.ts";

const HEAD = ["option", "type", "default", "meaning"];

/** docs/reference/config.md, from the schemas that validate the file. */
export function configPage(plugins: readonly AnyPlugin[]): string {
  const core = listOptions(configSchema).map(unlessTold).map(optionRow);
  return page(
    "Configuration",
    "Every option of `gateway.yaml`. `<name>` stands for a name of your choice, `[]` for every item of a list. `propylon schema` prints the same as JSON Schema for editors; [the guide](../guide/config.md) explains how they work together. A duration is `30s`, `1500ms`, `10m` or a number of seconds, a size `64KiB`, `16MiB` or a number of bytes.",
    table(HEAD, [...core, ...plugins.flatMap(sectionRow)]),
    ...plugins.flatMap(pluginBlocks),
    ...plugins.flatMap(typeBlocks),
  );
}

const linkOf = ({ name }: AnyPlugin): string => `[${name}](../plugins/${name}.md)`;

function sectionRow(plugin: AnyPlugin): string[][] {
  const section = sectionOf(plugin);
  if (!section || isCoreKey(section.key)) return [];
  const options = section.option === undefined ? "options" : `option \`${section.option}\``;
  return [
    [
      `\`${section.key}\``,
      "map",
      "",
      `The ${options} of the plugin ${linkOf(plugin)}, which joins by it.`,
    ],
  ];
}

function pluginBlocks(plugin: AnyPlugin): string[] {
  const options = listOptions(plugin.config);
  const title = `## Plugin ${plugin.name}`;
  if (options.length === 0) return [title, `${linkOf(plugin)} has no options.`];
  const { key = "" } = sectionOf(plugin) ?? {};
  if (isCoreKey(key)) return [title, `Its options stand in \`${key}\`; more: ${linkOf(plugin)}.`];
  const words = `Below \`plugins.${plugin.name}\`; more: ${linkOf(plugin)}.`;
  return [title, words, table(HEAD, options.map(optionRow))];
}

/** The type of a server is there when it is read, and need not be written. */
function unlessTold(option: PluginOption): PluginOption {
  return option.path === "servers.<name>.type" ? { ...option, required: false } : option;
}

/** The options that servers of each type have besides those of all. */
function typeBlocks({ name, serverTypes = {} }: AnyPlugin): string[] {
  return Object.entries(serverTypes).flatMap(([type, schema]) => [
    `## Servers of type ${type}`,
    `Below \`servers.<name>\`, beside \`type\`, \`enabled\`, \`timeout\`, \`prefix\` and \`tools\`; more: [${name}](../plugins/${name}.md).`,
    table(HEAD, listOptions(schema).map(optionRow)),
  ]);
}

/** The options that the page of a plugin tells: its own, and those of its kinds of server. */
export function optionsOfPage(
  name: string,
  plugins: readonly AnyPlugin[],
): readonly PluginOption[] {
  const { config, serverTypes = {} } = plugins.find((each) => each.name === name)!;
  return [
    ...(config ? listOptions(config) : []),
    ...joinOptions(Object.values(serverTypes).flatMap(listOptions)),
  ];
}

/** A Markdown table of options. */
export function optionTable(options: readonly PluginOption[]): string {
  return table(HEAD, options.map(optionRow), { aligned: true });
}

function optionRow(option: PluginOption): string[] {
  const { path, shapes, description = "" } = option;
  const types = shapes.flatMap(typesOf);
  return [`\`${path}\``, [...new Set(types)].join(" or "), defaultOf(option), description];
}

/** A group's default is that of its options. */
function defaultOf({ default: value, required, shapes }: PluginOption): string {
  if (required) return "required";
  if (value === undefined || (shapes.some(hasOptions) && typeof value === "object")) return "";
  const isPlain = typeof value === "string" && value !== "";
  return `\`${isPlain ? value : JSON.stringify(value)}\``;
}

const hasOptions = ({ properties, additionalProperties, anyOf = [], oneOf = [] }: Shape): boolean =>
  properties !== undefined ||
  typeof additionalProperties === "object" ||
  [...anyOf, ...oneOf].some(hasOptions);

function typesOf(shape: Shape): string[] {
  const choices = shape.anyOf ?? shape.oneOf;
  if (shape.format === "duration" || shape.format === "size") return [shape.format];
  if ("const" in shape) return [`\`${String(shape.const)}\``];
  if (shape.enum) return [shape.enum.map((value) => `\`${String(value)}\``).join(", ")];
  if (choices) return choices.flatMap(typesOf);
  if (shape.type === "array")
    return [`list of ${shape.items ? [...new Set(typesOf(shape.items))].join(" or ") : "any"}`];
  if (shape.type === "object") return ["map"];
  return [NAMES[String(shape.type)] ?? "any"];
}

const NAMES: Readonly<Record<string, string>> = {
  string: "text",
  integer: "integer",
  number: "number",
  boolean: "boolean",
};
