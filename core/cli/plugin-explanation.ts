import { choose, isLocalPlugin } from "../config/checks.ts";
import { FIRST_PARTY } from "../config/first-party.ts";
import { GatewayError } from "../errors.ts";
import { composeConfig, type ComposedPlugin, type OptionInForce } from "./composed.ts";

/**
 * Prints what a plugin brings to a gateway and how it is joined to the others.
 *
 * @param name its name or key
 * @throws {GatewayError} `not_found` when the config has no such plugin
 */
export async function explain(
  name: string,
  file: string | undefined,
  { json = false }: { readonly json?: boolean } = {},
): Promise<void> {
  const plugins = await composeConfig(file);
  const plugin = plugins.find((each) => each.name === name || each.key === name);
  if (!plugin)
    throw new GatewayError("not_found", `The config has no plugin "${name}".`, {
      hint: choose(
        name,
        plugins.map((each) => each.name),
      ),
    });
  console.log(json ? JSON.stringify(plugin, null, 2) : explanation(plugin, plugins));
}

/** A plugin as text: a line for each thing that it has. */
export function explanation(plugin: ComposedPlugin, plugins: readonly ComposedPlugin[]): string {
  const users = plugins.filter(({ injects }) => injects.some(({ from }) => from === plugin.name));
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ["comes from", [originText(plugin)]],
    ["order", [`${plugin.order} of ${plugins.length}`]],
    ["options", optionTexts(plugin.options)],
    ["provides", plugin.provides === undefined ? [] : [providing(plugin.provides, users)]],
    ["takes", plugin.injects.map(({ service, from }) => `${service} (${from ?? "nobody has it"})`)],
    ["stages", plugin.stages],
    ["hooks", plugin.hooks],
    ["listeners", plugin.listeners],
    ["endpoints", plugin.endpoints],
    ["server types", plugin.serverTypes],
    ["routes", plugin.routes.map(routeText)],
    ["tools", plugin.servers.flatMap(({ name, tools }) => tools.map((tool) => `${name}/${tool}`))],
    ["metrics", plugin.metrics],
  ];
  const title = plugin.key === plugin.name ? plugin.name : `${plugin.name} (${plugin.key})`;
  return [title, ...sections.flatMap(([label, lines]) => section(label, lines))].join("\n");
}

function originText({ key }: ComposedPlugin): string {
  if (isLocalPlugin(key)) return "a file of this gateway";
  return FIRST_PARTY.includes(key)
    ? `Propylon; see node_modules/propylon/docs/plugins/${key}.md`
    : "a package beside the config";
}

/** Longest value that is shown whole, in characters. */
const VALUE = 60;

function optionTexts(options: readonly OptionInForce[]): string[] {
  return options.map(({ path, value, isSet, description }) => {
    const json = value === undefined ? "not set" : valueText(value);
    const origin = isSet || value === undefined ? "" : " (default)";
    return `${path}: ${json}${origin}${description === undefined ? "" : `  # ${description}`}`;
  });
}

function valueText(value: unknown): string {
  const text = typeof value === "string" && value !== "" ? value : JSON.stringify(value);
  return text.length > VALUE ? `${text.slice(0, VALUE)}...` : text;
}

const INDENT = 14;

function section(label: string, lines: readonly string[]): string[] {
  return lines.map((line, index) => `  ${(index === 0 ? label : "").padEnd(INDENT)}${line}`);
}

function providing(service: string, users: readonly ComposedPlugin[]): string {
  const names = users.map(({ name }) => name);
  return names.length === 0 ? service : `${service}, to ${names.join(", ")}`;
}

function routeText({
  route,
  listener,
  access,
  mutates,
  management,
}: ComposedPlugin["routes"][number]): string {
  const facts = [
    access,
    ...(mutates ? ["mutates"] : []),
    ...(management ? ["management"] : []),
    ...(listener === "" ? [] : [`on ${listener}`]),
  ];
  return `${route} (${facts.join(", ")})`;
}
