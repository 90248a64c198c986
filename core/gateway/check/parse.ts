import type { z } from "zod";
import {
  commonOptions,
  Config,
  inputShape,
  noteRead,
  ownOptions,
  placeIssue,
  Places,
  readGroups,
  withDefaults,
} from "../../config/config.ts";
import { TYPE_PLUGINS } from "../../config/defaults.ts";
import { explainIssues, type ZodIssue } from "../../config/explain.ts";
import { invalidConfig, pathText, type ConfigPath, type PathIssue } from "../../config/issue.ts";
import { OBJECT_NAMES, RESERVED_SERVERS, substitute } from "../../config/names.ts";
import { configSchema, type GatewayConfigInput } from "../../config/schema.ts";
import { ENTRY_TYPES } from "../../config/server-schema.ts";
import type { Shape } from "../../config/shape.ts";
import { READ_ONCE } from "../../kit/check-shape.ts";
import { isPlainObject } from "../../kit/json.ts";
import { coerceExpanded, hideExpanded } from "./coerce.ts";
import { COMMON_ENTRY, type EntryType, shapeOf, shapeWith } from "./jsonschema.ts";
import type { PluginResolver } from "./plugin-module.ts";
import { moveSections } from "./sections.ts";

/**
 * Reads a config that is an object: checks it against the schema and fills in its defaults.
 *
 * @param resolver finds the plugins that claim sections of it
 * @param source what it is called in messages
 * @throws {GatewayError} `invalid` with every problem in `data.issues`
 */
export function parseConfig(
  input: GatewayConfigInput,
  resolver: PluginResolver,
  source = "the config",
): Promise<Config> {
  const found = [...checkNames(input), ...readGroups(input)];
  return parseValue(input, resolver, new Places(source), new Set(), found);
}

/**
 * Makes the config of a value, and tells all that is wrong with it.
 *
 * @param places where it stands: texts that came from variables are read as numbers and booleans where those are wanted, and
 *   messages show the variable instead of its value
 * @param found what is known to be wrong already
 * @throws {GatewayError} as {@link parseConfig}
 */
export async function parseValue(
  value: unknown,
  resolver: PluginResolver,
  places: Places,
  secrets: ReadonlySet<string>,
  found: readonly PathIssue[],
): Promise<Config> {
  const moved = await moveSections(value, resolver, places);
  const types = await entryTypes(moved.value, resolver);
  const entries = readEntries(moved.value, types, places);
  const shape = (): Shape => {
    const { properties, ...rest } = shapeWith(types.values());
    const sections = Object.fromEntries(moved.known.map((key) => [key, {}]));
    return { ...rest, properties: { ...properties, ...sections } };
  };
  const read = validate(configSchema, entries.value, [], shape, places);
  // An unset variable leaves its text in place: problems of that same value would be noise.
  const wrong = [...("issues" in read ? read.issues : []), ...entries.issues].filter(
    (issue) => !places.expandedAt(issue.path)?.isUnset,
  );
  const all = [...found, ...moved.issues, ...wrong];
  if (all.length > 0 || "issues" in read)
    throw invalidConfig(all.map((issue) => placeIssue(issue, { places, secrets })));
  noteRead(read.data);
  return new Config(read.data, places, secrets, entries.options);
}

/** The types of servers that a config can have, by their names. */
type EntryTypes = ReadonlyMap<string, EntryType>;

/** The entries of `servers`, each read by the schema of its type. */
interface ReadEntries {
  /** The config: the options of entries as people write them, with their defaults. */
  readonly value: unknown;
  readonly issues: readonly PathIssue[];
  /** The options as the schemas made them, by the names of the servers. */
  readonly options: ReadonlyMap<string, unknown>;
}

/**
 * The types that the plugins of a config bring, and those that belong to its entries. A plugin that does not load brings none:
 * `check` tells of it.
 */
async function entryTypes(config: unknown, resolver: PluginResolver): Promise<EntryTypes> {
  const { plugins, servers } = isPlainObject(config) ? config : {};
  const asked = isPlainObject(plugins) ? plugins : {};
  const entries = isPlainObject(servers) ? Object.values(servers).filter(isPlainObject) : [];
  const types = new Map<string, EntryType>();
  const add = async (key: string): Promise<void> => {
    const brought = await bringsOf(key, resolver);
    for (const [type, schema] of brought)
      types.set(type, { schema, beside: brought.map(([, each]) => each) });
  };
  if (entries.length > 0)
    for (const [key, options] of Object.entries(asked)) if (options !== false) await add(key);
  const named = [...ENTRY_TYPES, ...entries.map(({ type }) => type as string)];
  for (const key of pluginsOf(named, new Set(types.keys()), asked)) await add(key);
  return types;
}

/** The plugins that belong to types of servers, which no plugin brings and the config does not name. */
export function pluginsOf(
  types: readonly string[],
  brought: ReadonlySet<string>,
  plugins: Readonly<Record<string, unknown>>,
): ReadonlySet<string> {
  const missing = types.filter((type) => !brought.has(type));
  const keys = missing.flatMap((type) => TYPE_PLUGINS.get(type) ?? []);
  return new Set(keys.filter((key) => !Object.hasOwn(plugins, key)));
}

async function bringsOf(key: string, resolver: PluginResolver): Promise<[string, z.ZodType][]> {
  try {
    return Object.entries((await resolver.resolve(key)).serverTypes ?? {});
  } catch {
    return [];
  }
}

/** Reads the entries of a config. One whose type nobody brings stays as it is, for `check` to refuse. */
function readEntries(config: unknown, types: EntryTypes, places: Places): ReadEntries {
  const options = new Map<string, unknown>();
  if (!isPlainObject(config) || !isPlainObject(config["servers"]))
    return { value: config, issues: [], options };
  const entries = Object.entries(config["servers"]).map(([name, entry]) => ({
    name,
    ...readEntry(["servers", name], entry, types, places),
  }));
  for (const { name, part } of entries) if (part) options.set(name, part.options);
  const servers = entries.flatMap(({ name, entry }) =>
    entry === undefined ? [] : [[name, entry] as const],
  );
  const issues = entries.flatMap((each) => each.issues ?? []);
  return { value: { ...config, servers: Object.fromEntries(servers) }, issues, options };
}

/** One of them. Of what is wrong only that stays which every entry has, for the schema of the config. */
function readEntry(
  path: readonly ["servers", string],
  written: unknown,
  types: EntryTypes,
  places: Places,
): { entry?: unknown; part?: ReadPart; issues?: readonly PathIssue[] } {
  if (!isPlainObject(written)) return { entry: written };
  const address = inferType(path, written, places);
  const named = written["type"] === undefined ? address : written["type"];
  if (named === address && typeof address !== "string") return { issues: [address] };
  const common = { ...commonOptions(written), type: named };
  const type = types.get(named as string);
  if (type === undefined) return { entry: { ...written, ...common } };
  const shape = (): Shape => shapeWith([type]);
  const part = validatePart(type.schema, ownOptions(written), path, places, shape);
  if ("issues" in part) return { entry: common, issues: part.issues };
  const own = withDefaults(inputShape(type.schema), part.written) as object;
  return { entry: { ...common, ...own }, part };
}

/** The type that the address of an entry tells; a problem where it has none, or two. */
function inferType(
  path: ConfigPath,
  { command, url }: Readonly<Record<string, unknown>>,
  places: Places,
): string | PathIssue {
  const isChild = command !== undefined;
  if (isChild !== (url !== undefined)) return isChild ? "stdio" : "http";
  const name = pathText(places.written(path));
  return isChild
    ? {
        path,
        message: `${name} has a command and a url.`,
        hint: "Keep command for a child process, or url for a server reached over HTTP.",
      }
    : {
        path,
        message: `${name} has neither a command nor a url.`,
        hint: 'Add command: npx and args: [...] for a child process, or url: "https://..." for a server reached over HTTP.',
      };
}

/** Keys that the gateway knows of entries which other clients write, where a config has any of them. */
export async function clientKeys(
  config: Readonly<Record<string, unknown>>,
  resolver: PluginResolver,
): Promise<ReadonlySet<string>> {
  if (config["mcpServers"] === undefined) return new Set();
  const types = await entryTypes(config, resolver);
  const schemas = ENTRY_TYPES.flatMap((type) => types.get(type)?.schema ?? []);
  // Nobody serves them, and what is wrong with that is told of the entries as they are.
  if (schemas.length === 0) return new Set();
  return new Set(
    [COMMON_ENTRY, ...schemas].flatMap((schema) =>
      Object.keys(inputShape(schema).properties ?? {}),
    ),
  );
}

/** A part of a config as a plugin's schema made it. */
interface ReadPart {
  readonly written: Readonly<Record<string, unknown>>;
  readonly options: unknown;
}

/**
 * Checks a part of a config against the schema of the plugin that it is for; compare {@link parseValue}.
 *
 * @param path where it stands
 * @param shape of the whole config, for hints; default: of this part alone
 */
export function validatePart(
  schema: z.ZodType,
  written: Readonly<Record<string, unknown>>,
  path: readonly [block: string, name: string],
  places: Places,
  shape = () => shapeAt(path, schema),
): ReadPart | { readonly issues: readonly PathIssue[] } {
  const read = validate(schema, written, path, shape, places);
  return "issues" in read ? read : { written: read.value, options: read.data };
}

function shapeAt(path: ConfigPath, schema: z.ZodType): Shape {
  const own: Shape = shapeOf(schema);
  return path.reduceRight<Shape>((inner, key) => ({ properties: { [key]: inner } }), own);
}

/** @param shapeOfAll of the whole config, of which the value is at the path; asked where something is wrong */
function validate<T, V>(
  schema: z.ZodType<T>,
  value: V,
  path: ConfigPath,
  shapeOfAll: () => Shape,
  places: Places,
): { readonly value: V; readonly data: T } | { readonly issues: readonly PathIssue[] } {
  const filled = places.isExpanded ? (coerceExpanded(schema, value, path, places) as V) : value;
  const read = schema.safeParse(filled, READ_ONCE);
  if (read.success) return { value: filled, data: read.data };
  const whole = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), filled);
  const found = read.error.issues.map((issue): ZodIssue => ({
    ...issue,
    path: [...path, ...issue.path],
  }));
  const issues = explainIssues(found, whole, shapeOfAll(), places);
  return { issues: issues.map((issue) => hideExpanded(issue, places)) };
}

/** Maps by names that people give, and what such a name is called. */
const NAMED = {
  servers: "server",
  mcpServers: "server",
  endpoints: "endpoint",
  listeners: "listener",
} as const;

/** Names in a config, as it was written, that cannot be used. */
export function checkNames(config: unknown): PathIssue[] {
  if (!isPlainObject(config)) return [];
  const wrong = Object.entries(NAMED).flatMap(([block, kind]) =>
    namesOf(config, block)
      .filter((name) => (kind === "server" ? RESERVED_SERVERS : OBJECT_NAMES).has(name))
      .map((name) => reserved(kind, block, name)),
  );
  return [...wrong, ...prototypes(config, [])];
}

function namesOf(config: Readonly<Record<string, unknown>>, block: string): string[] {
  const named = Object.hasOwn(config, block) ? config[block] : undefined;
  return isPlainObject(named) ? Object.keys(named) : [];
}

function reserved(kind: string, block: string, name: string): PathIssue {
  const isPath = /[a-z]/i.test(name) && !OBJECT_NAMES.has(name);
  return {
    path: [block, name],
    at: "key",
    message: isPath
      ? `The ${kind} name "${name}" is reserved for a path of the gateway.`
      : `"${name}" cannot be the name of ${/^[ae]/.test(kind) ? "an" : "a"} ${kind}.`,
    hint: `Choose another name, e.g. "${substitute(kind, name)}".`,
  };
}

/** The key `__proto__`, wherever else it stands: most code would set a prototype with it. */
function prototypes(value: unknown, path: ConfigPath): PathIssue[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => prototypes(item, [...path, at]));
  if (!isPlainObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const at = [...path, key];
    const isKnown = path.length === 1 && Object.hasOwn(NAMED, String(path[0]));
    if (key !== "__proto__" || isKnown) return prototypes(item, at);
    const message = "The key __proto__ cannot be used.";
    return [{ path: at, at: "key" as const, message, hint: "Choose another name." }];
  });
}
