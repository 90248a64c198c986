import { z } from "zod";
import {
  DEFAULT_PLUGINS,
  LOGIN_PLUGIN,
  schemeOf,
  STORE_PLUGINS,
  TYPE_PLUGINS,
  credentialsIn,
} from "../../config/defaults.ts";
import { checkParts, checkWithPlugins, findStore, readsAuth, storeIssues } from "./checks.ts";
import type { Config } from "../../config/config.ts";
import { invalidConfig, type PathIssue } from "../../config/issue.ts";
import { type CheckedPlugin, loadIssue, type PluginResolver } from "./plugin-module.ts";
import { GatewayError, isGatewayError, toGatewayError } from "../../kit/errors.ts";
import { VERSION } from "../../kit/version.ts";
import type { PluginNeeds, StoreKind } from "../../plugin/definitions.ts";
import type { AnyPlugin } from "../../plugin/plugin.ts";
import type { GatewayConfig } from "../../config/schema.ts";
import { pluginsOf, validatePart } from "./parse.ts";
import { isPlainObject } from "../../kit/json.ts";
import { SPELLINGS } from "./clients.ts";
import { ENTRY_TYPES } from "../../config/server-schema.ts";
import { nearest } from "../../kit/spelling.ts";

/** A config with its plugins, in which nothing is wrong as far as that shows before they are set up. */
export interface CheckedConfig {
  readonly config: Config;
  readonly plugins: readonly CheckedPlugin[];
}

/**
 * Checks a config that was read with its plugins: that they load, their options, the servers that they serve, and what parts say
 * of each other. Everything that checks, starts, plans, reloads, edits or builds a gateway checks here.
 *
 * @throws {GatewayError} `invalid` with every problem and its place in `data.issues`
 */
export async function check(config: Config, resolver: PluginResolver): Promise<CheckedConfig> {
  const { values } = config;
  const { plugins, issues } = await readPlugins(config, resolver);
  const found = [...issues, ...checkParts(values)];
  // With a plugin that did not load, what it would have provided is not missing.
  if (issues.length === 0)
    found.push(...unservedEntries(config, plugins), ...checkWithPlugins(values, plugins));
  if (found.length > 0) throw invalidConfig(found.map((issue) => config.place(issue)));
  return {
    config: config.with({ plugins: optionsRead(values, plugins) }),
    plugins,
  };
}

interface ReadPlugins {
  readonly issues: readonly PathIssue[];
  readonly plugins: readonly CheckedPlugin[];
}

async function readPlugins(config: Config, resolver: PluginResolver): Promise<ReadPlugins> {
  const asked = { ...BY_DEFAULT, ...config.values.plugins };
  const read = await readEach(asked, config, resolver);
  const needed = {
    ...typePlugins(config.values, read.plugins),
    ...storePlugins(config.values, read.plugins),
  };
  const brought = await readEach(needed, config, resolver);
  const plugins = [...read.plugins, ...brought.plugins];
  const issues = [...read.issues, ...brought.issues];
  return {
    plugins,
    issues: [...issues, ...(issues.length === 0 ? storeIssues(config.values, plugins) : [])],
  };
}

async function readEach(
  asked: GatewayConfig["plugins"],
  config: Config,
  resolver: PluginResolver,
): Promise<ReadPlugins> {
  const plugins: CheckedPlugin[] = [];
  const issues: PathIssue[] = [];
  for (const [key, options] of Object.entries(asked)) {
    if (options === false) continue;
    const written = typeof options === "object" && options !== null ? options : {};
    try {
      const plugin = await resolver.resolve(key);
      checkDefinition(key, plugin);
      const part = readOptions({ key, plugin }, written, config);
      if ("issues" in part) issues.push(...part.issues);
      else plugins.push({ key, plugin, ...part, needs: readNeeds(key, plugin, part.options) });
    } catch (thrown) {
      issues.push(loadIssue(key, thrown));
    }
  }
  return { plugins, issues };
}

/** The options of the plugin that checks credentials stand in `auth`, where the schema of the config has read them. */
function readOptions(
  { key, plugin }: Pick<CheckedPlugin, "key" | "plugin">,
  written: Readonly<Record<string, unknown>>,
  { places, values }: Config,
): ReturnType<typeof validatePart> {
  const isAuth = readsAuth({ key, plugin });
  const schema = (isAuth ? undefined : plugin.config) ?? NO_OPTIONS;
  const part = validatePart(schema, written, ["plugins", key], places);
  if ("issues" in part || !isAuth) return part;
  const credentials = credentialsIn(values.auth);
  return { written: credentials, options: credentials };
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

/** Packages are names; of everything else it is told where it stands. */
function isListFor(member: string, list: unknown): boolean {
  if (!Array.isArray(list)) return false;
  if (member === "packages") return list.every((name) => typeof name === "string");
  return list.every(
    (each) =>
      isPlainObject(each) &&
      Array.isArray(each["path"]) &&
      typeof each["by"] === "string" &&
      (member === "store" || typeof each["name"] === "string"),
  );
}

/**
 * What the options of a plugin need, asked once.
 *
 * @throws {GatewayError} `invalid` when it cannot say
 */
function readNeeds(key: string, plugin: AnyPlugin, options: unknown): PluginNeeds {
  if (plugin.needs === undefined) return {};
  try {
    const needs: unknown = plugin.needs(options);
    if (needs instanceof Promise) needs.catch(() => {});
    if (!isPlainObject(needs)) throw new Error("needs(options) returns no plain object");
    checkMembers("What it needs", needs, NEEDS);
    for (const [member, list] of Object.entries(needs))
      if (list !== undefined && !isListFor(member, list))
        throw new Error(`${member} is not a list of what it takes`);
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

/** The plugins that entries of `servers` need, by their type or their login, and `plugins` does not name. */
function typePlugins(
  { plugins, servers }: GatewayConfig,
  read: readonly CheckedPlugin[],
): GatewayConfig["plugins"] {
  const brought = new Set(read.flatMap(({ plugin }) => Object.keys(plugin.serverTypes ?? {})));
  const entries = Object.values(servers);
  const byType = pluginsOf(
    entries.map(({ type }) => type),
    brought,
    plugins,
  );
  const isLogin = entries.some(({ type, auth }) => type === "http" && auth !== undefined);
  const missing = isLogin && !Object.hasOwn(plugins, LOGIN_PLUGIN) ? [LOGIN_PLUGIN] : [];
  return Object.fromEntries([...byType, ...missing].map((key) => [key, {}]));
}

/** The one of {@link STORE_PLUGINS} that the `store` needs and `plugins` does not name. */
function storePlugins(
  { plugins, store }: GatewayConfig,
  read: readonly CheckedPlugin[],
): GatewayConfig["plugins"] {
  const key = STORE_PLUGINS.get(schemeOf(store));
  const isThere = findStore(read, store) !== undefined;
  return key === undefined || isThere || Object.hasOwn(plugins, key) ? {} : { [key]: {} };
}

/** As they were read, where the config has any. */
function optionsRead(
  { plugins: written }: GatewayConfig,
  plugins: readonly CheckedPlugin[],
): GatewayConfig["plugins"] {
  const given = plugins.filter((each) => isPlainObject(written[each.key]) && !readsAuth(each));
  return { ...written, ...Object.fromEntries(given.map((each) => [each.key, each.written])) };
}

const NO_OPTIONS = z.strictObject({});
const BY_DEFAULT: GatewayConfig["plugins"] = Object.fromEntries(
  DEFAULT_PLUGINS.map((key) => [key, {}]),
);

/** Entries of `servers` that no plugin in use serves. Those that are switched off are looked at too, as all others are. */
function unservedEntries(
  { values, entries }: Config,
  plugins: readonly CheckedPlugin[],
): readonly PathIssue[] {
  const brought = plugins.flatMap(({ plugin }) => Object.keys(plugin.serverTypes ?? {}));
  return Object.entries(values.servers)
    .filter(([name]) => !entries.has(name))
    .map(([name, { type }]) => unserved(name, type, brought));
}

/**
 * What is said about an entry of `servers` that nobody serves.
 *
 * @param brought types that the plugins in use bring
 */
export function unserved(name: string, type: string, brought: readonly string[]): PathIssue {
  if (!ENTRY_TYPES.includes(type)) return unknownType(name, type, brought);
  return {
    path: ["servers", name],
    at: "key",
    message: `No plugin in use serves the server "${name}".`,
    hint: "Leave out plugins.servers: false, or this entry.",
  };
}

/**
 * What is said about an entry of `servers` whose `type` nobody serves.
 * @param brought types that the plugins in use bring
 */
function unknownType(name: string, type: string, brought: readonly string[]): PathIssue {
  const known = [...new Set([...SPELLINGS, ...brought])];
  const plugin = TYPE_PLUGINS.get(type);
  const similar = nearest(type, [...known, ...TYPE_PLUGINS.keys()]);
  const meant = similar === undefined ? "" : ` Did you mean "${similar}"?`;
  return {
    path: ["servers", name, "type"],
    message: `No plugin in use brings the server type ${JSON.stringify(type)}.`,
    hint:
      plugin === undefined
        ? `Types: ${known.join(", ")}; others come with plugins.${meant}`
        : `Leave out plugins.${plugin}: false, or this entry.`,
  };
}
