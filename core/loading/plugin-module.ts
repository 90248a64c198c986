import { GatewayError, isGatewayError, toGatewayError } from "../kit/errors.ts";
import { isDefault } from "../plugin/defaults.ts";
import type { AnyPlugin } from "../plugin/plugin.ts";
import type { PathIssue } from "../config/issue.ts";
import { isPlainObject } from "../config/names.ts";
import { nearest } from "../kit/spelling.ts";
import { VERSION } from "../kit/version.ts";
import type { PluginNeeds, StoreKind } from "../plugin/definitions.ts";

/** Finds the plugins of a config. */
export interface PluginResolver {
  /** Names of those that are there without being installed: they are at hand, or come along. */
  readonly names: readonly string[];
  /** The plugin that a key of the config's `plugins` stands for. */
  resolve(key: string): AnyPlugin | Promise<AnyPlugin>;
}

/** A plugin of a config. */
export interface CheckedPlugin {
  readonly key: string;
  readonly plugin: AnyPlugin;
  /** As the config has them. */
  readonly written: Readonly<Record<string, unknown>>;
  /** As the plugin's schema made them. */
  readonly options: unknown;
  readonly needs: PluginNeeds;
}

/**
 * The plugin that a module exports by default.
 *
 * @param key its key in the config, to name it
 * @throws {GatewayError} `invalid` when there is none
 */
export function pluginOf(key: string, module: Record<string, unknown>): AnyPlugin {
  const found = module["default"];
  if (isPlugin(found)) return found;
  const problem =
    found === undefined ? "has no default export" : "does not export a plugin by default";
  throw new GatewayError("invalid", `The plugin ${key} ${problem}.`, {
    hint: 'Write export default definePlugin({ name: "...", setup(gateway) { ... } }).',
  });
}

function isPlugin(value: unknown): value is AnyPlugin {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    typeof value.name === "string" &&
    "setup" in value &&
    typeof value.setup === "function"
  );
}

/** What a definition may have. A member that is read nowhere may be a mistyped one that was to keep somebody out. */
const MEMBERS: ReadonlySet<string> = new Set<keyof AnyPlugin>([
  "name",
  "requires",
  "config",
  "section",
  "inject",
  "provides",
  "needs",
  "serverTypes",
  "stores",
  "commands",
  "setup",
]);
const NEEDS: ReadonlySet<string> = new Set<keyof PluginNeeds>([
  "references",
  "selectors",
  "store",
  "packages",
]);

/** @throws {GatewayError} `invalid` for a plugin that this version of Propylon cannot use */
export function checkDefinition(key: string, plugin: AnyPlugin): void {
  checkVersion(key, plugin);
  checkMembers(`The plugin ${key}`, plugin, MEMBERS);
  for (const [scheme, kind] of Object.entries(plugin.stores ?? {}))
    if (typeof (kind as Partial<StoreKind> | undefined)?.open !== "function")
      throw new GatewayError(
        "invalid",
        `The plugin ${key} brings a store ${scheme} without open.`,
        {
          hint: `Write stores: { ${scheme}: { open: (url, host) => ... } }.`,
        },
      );
}

function checkVersion(key: string, { requires }: AnyPlugin): void {
  if (requires === undefined) return;
  const [ownMajor, ownMinor] = VERSION.split(".").map(Number) as [number, number];
  const range = /^\^(\d{1,6})\.(\d{1,6})$/.exec(requires);
  if (!range)
    throw new GatewayError(
      "invalid",
      `The plugin ${key} has a requires that names no version: ${JSON.stringify(requires)}.`,
      { hint: `Write requires: "^${ownMajor}.${ownMinor}".` },
    );
  const [major, minor] = range.slice(1).map(Number) as [number, number];
  // Below 1.0 a minor version may change everything (semver.org, 4).
  const isMet = major === ownMajor && (major === 0 ? minor === ownMinor : minor <= ownMinor);
  if (isMet) return;
  throw new GatewayError(
    "invalid",
    `The plugin ${key} requires Propylon ${requires}, and this is ${VERSION}.`,
    { hint: "Take a version of the plugin for this one, or the other Propylon." },
  );
}

function checkMembers(what: string, object: object, known: ReadonlySet<string>): void {
  const unknown = Object.keys(object).find((member) => !known.has(member));
  if (unknown === undefined) return;
  const meant = nearest(unknown, [...known]);
  throw new GatewayError(
    "invalid",
    `${what} has a member ${JSON.stringify(unknown)} that nothing reads.`,
    {
      hint:
        meant === undefined ? `It may have ${[...known].join(", ")}.` : `Did you mean ${meant}?`,
    },
  );
}

/**
 * What the options of a plugin need, asked once.
 *
 * @throws {GatewayError} `invalid` when it cannot say
 */
export function readNeeds(key: string, plugin: AnyPlugin, options: unknown): PluginNeeds {
  if (plugin.needs === undefined) return {};
  try {
    const needs: unknown = plugin.needs(options);
    if (needs instanceof Promise) needs.catch(() => {});
    if (!isPlainObject(needs)) throw new Error("needs(options) returns no plain object");
    checkMembers("What it needs", needs, NEEDS);
    return needs;
  } catch (error) {
    const { message, hint } = toGatewayError(error);
    const words = isGatewayError(error)
      ? message
      : error instanceof Error
        ? error.message
        : String(error);
    throw new GatewayError(
      "invalid",
      `The plugin ${key} cannot say what it needs: ${words.replace(/[.\s]+$/, "")}.`,
      { cause: error, hint: hint ?? "Write needs: (options) => ({ references: [] })." },
    );
  }
}

/** Why there is no plugin behind a key of a config. */
export function loadIssue(key: string, thrown: unknown): PathIssue {
  const at = { path: ["plugins", key], at: "key" as const };
  const { message, hint } = toGatewayError(thrown);
  if (isGatewayError(thrown))
    return { ...at, message, hint: hint ?? "See docs/guide/write-a-plugin.md." };
  const reason = thrown instanceof Error ? thrown.message.split("\n")[0]! : String(thrown);
  return {
    ...at,
    message: `The plugin ${key} cannot be loaded: ${reason.replace(/[.\s]+$/, "")}.`,
    hint: isDefault(key)
      ? "It comes with Propylon. A bundle of your own must hand it over, see docs/guide/build.md."
      : "Correct it; its own tests show more.",
  };
}
