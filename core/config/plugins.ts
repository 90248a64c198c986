import { z } from "zod";
import { isGatewayError, toGatewayError, type GatewayError } from "../errors.ts";
import type { AnyPlugin } from "../plugin/plugin.ts";
import { checkConfig } from "./checks.ts";
import { explainIssues, leafIssues, type ZodIssue } from "./explain.ts";
import type { ConfigIssue } from "./issue.ts";
import { invalidConfig } from "./issue.ts";
import type { LoadedConfig } from "./load.ts";
import type { Shape } from "./shape.ts";
import { coerceExpanded } from "./validate.ts";

/** Whoever finds the plugin of a config key. */
export interface Resolver {
  resolve(key: string): Promise<AnyPlugin>;
}

/** The plugins of a config by key, and what is wrong with them. */
export interface CheckedPlugins {
  readonly plugins: ReadonlyMap<string, AnyPlugin>;
  readonly issues: readonly ConfigIssue[];
}

/** Loads every plugin of a config and checks its options, so that each problem is told with its place in the file. */
export async function checkPlugins(
  loaded: LoadedConfig,
  source: Resolver,
): Promise<CheckedPlugins> {
  const plugins = new Map<string, AnyPlugin>();
  const issues: ConfigIssue[] = [];
  for (const [key, options] of Object.entries(loaded.config.plugins)) {
    if (options === false) continue;
    try {
      const plugin = await source.resolve(key);
      plugins.set(key, plugin);
      issues.push(
        ...optionIssues(key, plugin, options === true || options === null ? {} : options, loaded),
      );
    } catch (thrown) {
      issues.push(loadIssue(key, toGatewayError(thrown), thrown, loaded));
    }
  }
  const crossed = checkConfig(loaded.config, { cwd: loaded.cwd, plugins: [...plugins.values()] });
  // With a plugin that did not load, what it would have provided is not missing.
  return {
    plugins,
    issues: issues.length > 0 ? issues : crossed.map((issue) => loaded.place(issue)),
  };
}

/** @throws {GatewayError} `invalid` with every problem of the plugins in `data.issues` */
export async function requirePlugins(loaded: LoadedConfig, source: Resolver): Promise<void> {
  const { issues } = await checkPlugins(loaded, source);
  if (issues.length > 0) throw invalidConfig(issues);
}

function optionIssues(
  key: string,
  plugin: AnyPlugin,
  options: Record<string, unknown>,
  loaded: LoadedConfig,
): ConfigIssue[] {
  const schema = plugin.config ?? z.strictObject({});
  let checked = schema.safeParse(options);
  if (checked.success) return [];
  const coerced = coerceOptions(key, options, checked.error.issues, loaded);
  if (coerced) {
    // Taken over: the plugin is set up with what was checked.
    loaded.config.plugins[key] = coerced;
    checked = schema.safeParse(coerced);
    if (checked.success) return [];
  }
  // Seen from the top of the config, so that paths and hints are those of the file.
  const issues = checked.error.issues.map((issue) => ({
    ...issue,
    path: ["plugins", key, ...issue.path],
  }));
  const shape: Shape = { properties: { plugins: { properties: { [key]: optionShape(schema) } } } };
  return explainIssues(issues, { plugins: { [key]: options } }, shape, loaded.places).map((issue) =>
    loaded.place(issue),
  );
}

/** Options with texts that came from variables read as numbers and booleans, where the plugin wants those. */
function coerceOptions(
  key: string,
  options: Record<string, unknown>,
  issues: readonly ZodIssue[],
  { places }: LoadedConfig,
): Record<string, unknown> | undefined {
  const whole = { plugins: { [key]: options } };
  const leaves = leafIssues(issues, options).map((issue) => ({
    ...issue,
    path: ["plugins", key, ...issue.path],
  }));
  const coerced = coerceExpanded(whole, leaves, places) as typeof whole | undefined;
  return coerced?.plugins[key];
}

function optionShape(schema: z.ZodType): Shape {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Shape;
}

function loadIssue(
  key: string,
  error: GatewayError,
  thrown: unknown,
  loaded: LoadedConfig,
): ConfigIssue {
  if (isGatewayError(thrown))
    return loaded.place({
      path: ["plugins", key],
      at: "key",
      message: error.message,
      hint: error.hint ?? "See docs/guide/write-a-plugin.md.",
    });
  const reason = thrown instanceof Error ? thrown.message.split("\n")[0]! : String(thrown);
  return loaded.place({
    path: ["plugins", key],
    at: "key",
    message: `The plugin ${key} cannot be loaded: ${reason.replace(/[.\s]+$/, "")}.`,
    hint: "Correct it; its own tests show more.",
  });
}
