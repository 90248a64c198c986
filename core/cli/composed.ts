import { maskConfig } from "../kit/mask.ts";
import type { Config } from "../config/config.ts";
import { placeText } from "../config/issue.ts";
import { valueAt } from "../config/value-at.ts";
import { listOptions } from "./plugin-options.ts";
import type { CheckedPlugin } from "../gateway/check/plugin-module.ts";
import { type PluginComposition, composition } from "../gateway/management/composition.ts";
import { drawChart } from "../gateway/management/chart.ts";
import { dryRun } from "../gateway/management/dry-run.ts";
import { isOfGateway } from "../gateway/scope.ts";
import { valueLines, valuesBelow } from "./config-values.ts";
import { checkHere, loadHere } from "./source.ts";
import { isLocalPlugin } from "../gateway/check/checks.ts";
import { choose } from "../kit/spelling.ts";
import { FIRST_PARTY } from "../gateway/check/first-party.ts";
import { GatewayError } from "../kit/errors.ts";

/** An option of a plugin with what it is set to. */
interface OptionInForce {
  /** As in {@link listOptions}. */
  readonly path: string;
  /** What the config says, secrets masked, else the default; `undefined` without either. */
  readonly value: unknown;
  /** Whether the config says it. */
  readonly isSet: boolean;
  /** Where it stands, if that is in a layer of the config. */
  readonly layer: string | undefined;
  readonly description: string | undefined;
}

/** A plugin as part of a gateway, with its options. */
interface ComposedPlugin extends PluginComposition {
  readonly options: readonly OptionInForce[];
}

/** A config with its plugins. */
interface Composed {
  readonly config: Config;
  readonly plugins: readonly ComposedPlugin[];
}

/**
 * What the plugins of a config are, set up together without opening anything.
 *
 * @param path default: the config in this folder
 * @throws {GatewayError} whatever is wrong with the config or a plugin
 */
async function composeConfig(path: string | undefined): Promise<Composed> {
  const { config, cwd } = await loadHere(path);
  const checked = await checkHere(config, cwd);
  const gateway = await dryRun(checked, cwd);
  try {
    const plugins = composition(gateway).map((plugin) => ({
      ...plugin,
      options: optionsInForce(
        checked.plugins.find(({ key }) => key === plugin.key),
        checked.config,
      ),
    }));
    return { config: checked.config, plugins };
  } finally {
    await gateway.close({ grace: 0 });
  }
}

/** Options without those that are groups of others: what is in them says the same. */
function optionsInForce(
  checked: CheckedPlugin | undefined,
  { secrets, places }: Config,
): readonly OptionInForce[] {
  const given = maskConfig(checked?.written, secrets);
  const layerOf = (path: readonly string[]): string | undefined => {
    const place = places.find(["plugins", checked!.key, ...path]);
    return place && place.file !== places.file ? placeText(place) : undefined;
  };
  const options = listOptions(checked?.plugin.config).filter(
    ({ path }) => !/\[\]|<name>/.test(path),
  );
  const leaves = options.filter(
    ({ path }) => !options.some((other) => other.path.startsWith(`${path}.`)),
  );
  return leaves.map(({ path, default: fallback, description }) => {
    const keys = path.split(".");
    const set = valueAt(given, keys);
    const layer = set === undefined ? undefined : layerOf(keys);
    return { path, value: set ?? fallback, isSet: set !== undefined, layer, description };
  });
}

/**
 * Prints what a plugin brings to a gateway and how it is joined to the others, who takes a service, or where values come from.
 *
 * @param name its name or key, the id of a service, or a path in the config
 * @throws {GatewayError} `not_found` when the config has none of them
 */
export async function explain(
  name: string,
  file: string | undefined,
  { json = false }: { readonly json?: boolean } = {},
): Promise<void> {
  const { config, plugins } = await composeConfig(file);
  const plugin = plugins.find((each) => each.name === name || each.key === name);
  const taken = serviceOf(name, plugins);
  // A plugin and a service of somebody else may have one name, as `metrics` is.
  const service = plugin && taken?.from === plugin.name ? undefined : taken;
  const values = plugin || service ? [] : valuesBelow(name, config);
  if (values.length > 0) {
    console.log(json ? JSON.stringify(values, null, 2) : valueLines(values).join("\n"));
    return;
  }
  if (!plugin && !service)
    throw new GatewayError("not_found", `The config has no plugin "${name}".`, {
      hint: choose(
        name,
        plugins.map((each) => each.name),
      ),
    });
  const texts = (): string[] => [
    ...(plugin ? [explanation(plugin, plugins)] : []),
    ...(service ? [serviceText(service)] : []),
  ];
  console.log(json ? JSON.stringify({ ...plugin, ...service }, null, 2) : texts().join("\n\n"));
}

/** A service with those who take it. */
interface TakenService {
  readonly service: string;
  readonly from: string | undefined;
  /** Names of the plugins that take it. */
  readonly takenBy: readonly string[];
}

function serviceOf(id: string, plugins: readonly ComposedPlugin[]): TakenService | undefined {
  const taken = plugins.flatMap(({ name, injects }) =>
    injects.filter(({ service }) => service === id).map(({ from }) => ({ name, from })),
  );
  const isOwn = isOfGateway(id);
  if (taken.length === 0 && !isOwn) return undefined;
  const from = isOwn ? "the gateway" : taken[0]!.from;
  return { service: id, from, takenBy: taken.map(({ name }) => name) };
}

function serviceText({ service, from, takenBy }: TakenService): string {
  const origin = section("comes from", [from ?? "nobody has it"]);
  return [
    `service ${service}`,
    ...origin,
    ...section("taken by", takenBy.length > 0 ? takenBy : ["no plugin of the config"]),
  ].join("\n");
}

/** A plugin as text: a line for each thing that it has. */
function explanation(plugin: ComposedPlugin, plugins: readonly ComposedPlugin[]): string {
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
  return options.map(({ path, value, isSet, layer, description }) => {
    const json = value === undefined ? "not set" : valueText(value);
    const known = isSet || value === undefined ? "" : " (default)";
    const origin = layer === undefined ? known : ` (${layer})`;
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

/** Prints the composed gateway as a Mermaid flow chart: the pipeline, who joins it, and who takes whose service. */
export async function graph(file: string | undefined): Promise<void> {
  console.log(drawChart((await composeConfig(file)).plugins));
}
