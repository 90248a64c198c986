import { z } from "zod";
import { isGatewayError, toGatewayError, type GatewayError } from "../errors.ts";
import { DEFAULT_PLUGINS, isDefault } from "../plugin/defaults.ts";
import type { AnyPlugin } from "../plugin/plugin.ts";
import { checkAgents, checkConfig } from "./checks.ts";
import type { Config } from "./config.ts";
import { explainIssues, leafIssues, type ZodIssue } from "./explain.ts";
import type { PathIssue } from "./issue.ts";
import { invalidConfig } from "./issue.ts";
import type { GatewayConfig } from "./schema.ts";
import type { Shape } from "./shape.ts";
import { coerceExpanded } from "./validate.ts";

/** Finds the plugin that a key of the config's `plugins` stands for. */
export type PluginResolver = (key: string) => AnyPlugin | Promise<AnyPlugin>;

/** A plugin of a config. */
export interface CheckedPlugin {
  /** In the config's `plugins`, unless it is one of {@link DEFAULT_PLUGINS}. */
  readonly key: string;
  readonly plugin: AnyPlugin;
  /** As the config has them. */
  readonly written: Readonly<Record<string, unknown>>;
  /** As the plugin's schema made them. */
  readonly options: unknown;
}

/** A config with its plugins, in which nothing is wrong as far as that shows before they are set up. */
export interface CheckedConfig {
  readonly config: Config;
  readonly plugins: readonly CheckedPlugin[];
}

/**
 * Checks a config that was read with its plugins: that they load, their options, and what parts say of each other. Everything
 * that checks, starts, plans, reloads, edits or builds a gateway checks here.
 *
 * @param cwd folder that relative paths in it start from
 * @throws {GatewayError} `invalid` with every problem and its place in `data.issues`
 */
export async function check(
  config: Config,
  resolve: PluginResolver,
  cwd: string,
): Promise<CheckedConfig> {
  const plugins: CheckedPlugin[] = [];
  const issues: PathIssue[] = [];
  const coerced: Record<string, Record<string, unknown>> = {};
  for (const [key, options] of Object.entries({ ...BY_DEFAULT, ...config.values.plugins })) {
    if (options === false) continue;
    const written = typeof options === "object" && options !== null ? options : {};
    try {
      const plugin = await resolve(key);
      const read = readOptions(key, plugin, written, config);
      if ("issues" in read) issues.push(...read.issues);
      else {
        plugins.push({ key, plugin, ...read });
        if (read.written !== written) coerced[key] = read.written;
      }
    } catch (thrown) {
      issues.push(loadIssue(key, toGatewayError(thrown), thrown));
    }
  }
  const checked = withOptions(config, coerced);
  // With a plugin that did not load, what it would have provided is not missing.
  const found = issues.length > 0 ? issues : crossed(checked.values, plugins, cwd);
  if (found.length > 0) throw invalidConfig(found.map((issue) => config.place(issue)));
  return { config: checked, plugins };
}

function crossed(
  config: GatewayConfig,
  plugins: readonly CheckedPlugin[],
  cwd: string,
): readonly PathIssue[] {
  const loaded = plugins.map(({ plugin }) => plugin);
  return [...checkConfig(config, cwd), ...checkAgents(config, loaded)];
}

function withOptions(config: Config, options: GatewayConfig["plugins"]): Config {
  if (Object.keys(options).length === 0) return config;
  return config.with({ plugins: { ...config.values.plugins, ...options } });
}

/** Options as the schema makes them; texts that came from variables are read as the numbers and booleans that it wants. */
function readOptions(
  key: string,
  plugin: AnyPlugin,
  written: Record<string, unknown>,
  { places }: Config,
):
  | { readonly written: Record<string, unknown>; readonly options: unknown }
  | { readonly issues: readonly PathIssue[] } {
  const schema = plugin.config ?? NO_OPTIONS;
  const first = schema.safeParse(written);
  if (first.success) return { written, options: first.data };
  const whole = { plugins: { [key]: written } };
  const shape: Shape = { properties: { plugins: { properties: { [key]: optionShape(schema) } } } };
  const leaves = leafIssues(fromTop(first.error, key), whole, shape);
  const coerced = coerceExpanded(whole, leaves, places) as typeof whole | undefined;
  const second = coerced && schema.safeParse(coerced.plugins[key]);
  if (second?.success) return { written: coerced!.plugins[key]!, options: second.data };
  const { error } = second ?? first;
  return { issues: explainIssues(fromTop(error, key), whole, shape, places) };
}

const NO_OPTIONS = z.strictObject({});
const BY_DEFAULT: GatewayConfig["plugins"] = Object.fromEntries(
  DEFAULT_PLUGINS.map((key) => [key, {}]),
);

/** Seen from the top of the config, so that paths and hints are those of the file. */
function fromTop(error: z.ZodError, key: string): ZodIssue[] {
  return error.issues.map((issue) => ({ ...issue, path: ["plugins", key, ...issue.path] }));
}

function optionShape(schema: z.ZodType): Shape {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Shape;
}

function loadIssue(key: string, error: GatewayError, thrown: unknown): PathIssue {
  const at = { path: ["plugins", key], at: "key" as const };
  if (isGatewayError(thrown))
    return {
      ...at,
      message: error.message,
      hint: error.hint ?? "See docs/guide/write-a-plugin.md.",
    };
  const reason = thrown instanceof Error ? thrown.message.split("\n")[0]! : String(thrown);
  return {
    ...at,
    message: `The plugin ${key} cannot be loaded: ${reason.replace(/[.\s]+$/, "")}.`,
    hint: isDefault(key)
      ? "It comes with Propylon. A bundle of your own must hand it over, see docs/guide/build.md."
      : "Correct it; its own tests show more.",
  };
}
