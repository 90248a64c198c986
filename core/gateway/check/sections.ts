import type { AnyPlugin } from "../../plugin/plugin.ts";
import { pathText, placeText, type ConfigPath, type PathIssue } from "../../config/issue.ts";
import type { Places } from "../../config/config.ts";
import { loadIssue, type PluginResolver } from "./plugin-module.ts";
import { configObject } from "../../config/schema.ts";
import { nearest } from "../../kit/spelling.ts";
import { isPlainObject } from "../../kit/json.ts";

/** A top-level key of a config that a plugin claims. */
export interface Section {
  readonly key: string;
  /** Which of the plugin's options stands there; default: all of them. */
  readonly option?: string;
}

/** A section, and the key of the config's `plugins` that its plugin has. */
interface Claim {
  readonly plugin: string;
  readonly section: Section;
}

/** A config whose sections stand where their plugins have their options. */
export interface Sectioned {
  /** What nobody claims is left in it for the schema to refuse. */
  readonly value: unknown;
  readonly issues: readonly PathIssue[];
  /** Sections that could be there, for hints about unknown keys. */
  readonly known: readonly string[];
}

/** The section that a plugin claims. */
export function sectionOf({ section }: AnyPlugin): Section | undefined {
  return typeof section === "string" ? { key: section } : section;
}

/** Whether a top-level key has its meaning without any plugin. */
export function isCoreKey(key: string): boolean {
  return Object.hasOwn(configObject.shape, key) || key === "mcpServers" || /^(?:\$|x-)/.test(key);
}

/**
 * Moves each section to the options of the plugin that claims it: one of the config's own plugins, else the one of that name that
 * comes along, which joins by it. One that is switched off takes its section with it.
 */
export async function moveSections(
  config: unknown,
  resolver: PluginResolver,
  places: Places,
): Promise<Sectioned> {
  const keys = isPlainObject(config) ? Object.keys(config).filter((key) => !isCoreKey(key)) : [];
  if (!isPlainObject(config) || keys.length === 0) return { value: config, issues: [], known: [] };
  const { plugins = {}, ...value } = config;
  // Before it is known what is wrong with the plugins, nobody can tell whose the sections are.
  if (!isPlainObject(plugins))
    return { value: { ...without(value, keys), plugins }, issues: [], known: [] };
  const claims: Claim[] = [];
  const failures: PathIssue[] = [];
  for (const [plugin, options] of Object.entries(plugins))
    if (options !== false) claims.push(...(await askPlugin(plugin, resolver, failures)));
  const moved = { ...plugins };
  const issues: PathIssue[] = [];
  const unclaimed: string[] = [];
  const known = claims.map(({ section }) => section.key);
  for (const key of keys) {
    const claim =
      claims.find(({ section }) => section.key === key) ??
      (await askNamed(key, resolver, failures));
    if (claim) issues.push(...move(value[key], claim, moved, places));
    else {
      unclaimed.push(key);
      const meant = await askNamed(nearest(key, resolver.names), resolver, []);
      if (meant) known.push(meant.section.key);
    }
  }
  // What nobody claims may belong to a plugin that does not load.
  const gone = failures.length > 0 ? keys : keys.filter((key) => !unclaimed.includes(key));
  return {
    value: { ...without(value, gone), plugins: moved },
    issues: [...issues, ...(unclaimed.length > 0 ? failures : [])],
    known,
  };
}

/** What a plugin claims. */
async function askPlugin(
  plugin: string,
  resolver: PluginResolver,
  failures: PathIssue[],
): Promise<Claim[]> {
  try {
    const section = sectionOf(await resolver.resolve(plugin));
    return section ? [{ plugin, section }] : [];
  } catch (thrown) {
    failures.push(loadIssue(plugin, thrown));
    return [];
  }
}

/** The same of the plugin of that name which comes along, if its section has that name. */
async function askNamed(
  name: string | undefined,
  resolver: PluginResolver,
  failures: PathIssue[],
): Promise<Claim | undefined> {
  if (name === undefined || !resolver.names.includes(name)) return undefined;
  const [claim] = await askPlugin(name, resolver, failures);
  return claim?.section.key === name ? claim : undefined;
}

/** @param plugins gets the section, unless there are such options already */
function move(
  content: unknown,
  { plugin, section: { key, option } }: Claim,
  plugins: Record<string, unknown>,
  places: Places,
): readonly PathIssue[] {
  const given = plugins[plugin];
  if (given === false) return [];
  const options = isPlainObject(given) ? given : {};
  const path = ["plugins", plugin, ...(option === undefined ? [] : [option])];
  const isTaken =
    option === undefined ? Object.keys(options).length > 0 : Object.hasOwn(options, option);
  if (isTaken) return [twice(key, path, places)];
  plugins[plugin] = option === undefined ? content : { ...options, [option]: content };
  places.move([key], path);
  return [];
}

function twice(key: string, path: ConfigPath, places: Places): PathIssue {
  const there = pathText(path);
  const { place } = places.place({ path, at: "key", message: "", hint: "" });
  const line = place.line === undefined ? "" : ` (${placeText(place)})`;
  return {
    path: [key],
    at: "key",
    message: `${key} is set here and in ${there}${line}.`,
    hint: `Keep one of them: ${key} at the top says the same as ${there}.`,
  };
}

function without(
  config: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).filter(([key]) => !keys.includes(key)));
}
