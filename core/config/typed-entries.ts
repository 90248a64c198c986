import { z } from "zod";
import { SPELLINGS } from "./clients.ts";
import type { Config } from "./config.ts";
import { withoutMark } from "./copies.ts";
import type { PathIssue } from "./issue.ts";
import type { CheckedPlugin } from "./plugin-module.ts";
import {
  ENTRY_TYPES,
  entryCommon,
  typeOf,
  type ServerConfig,
  type TypedServerConfig,
} from "./server-schema.ts";
import { nearest } from "./spelling.ts";
import { validatePart } from "./validate.ts";

/** The servers of a config that plugins serve. */
export interface Entries {
  /** Their options by name, as the schemas of their types made them. */
  readonly options: ReadonlyMap<string, unknown>;
  readonly issues: readonly PathIssue[];
}

/**
 * Reads the entries of `servers` that have a type of a plugin. Those that are switched off are checked too, as all others are.
 */
export function readEntries(
  { values, places }: Config,
  plugins: readonly CheckedPlugin[],
): Entries {
  const types = plugins.flatMap(({ plugin }) => Object.entries(plugin.serverTypes ?? {}));
  const schemas = new Map(types);
  const options = new Map<string, unknown>();
  const issues: PathIssue[] = [];
  for (const [name, entry] of Object.entries(values.servers)) {
    const schema = schemas.get(typeOf(entry));
    if (!schema) {
      issues.push(unserved(name, entry, [...schemas.keys()]));
      continue;
    }
    // The schema of the config has read it.
    if (!("type" in entry)) continue;
    const part = validatePart(schema, ownOptions(entry), ["servers", name], places, COMMON);
    if ("issues" in part) issues.push(...part.issues);
    else options.set(name, part.options);
  }
  return { options, issues };
}

const COMMON = z.object(entryCommon);

/** What an entry has besides what every entry has. */
function ownOptions(entry: TypedServerConfig): Record<string, unknown> {
  const common = new Set(["type", ...Object.keys(entryCommon)]);
  return Object.fromEntries(Object.entries(withoutMark(entry)).filter(([key]) => !common.has(key)));
}

/** Server types of the plugins that come with Propylon, and which plugin that is. */
const TYPE_PLUGINS: Readonly<Record<string, string>> = { a2a: "a2a", openapi: "openapi" };

/**
 * What is said about an entry of `servers` that nobody serves.
 *
 * @param brought types that the plugins in use bring
 */
export function unserved(name: string, entry: ServerConfig, brought: readonly string[]): PathIssue {
  if ("type" in entry)
    return unknownType(
      name,
      entry.type,
      brought.filter((type) => !ENTRY_TYPES.includes(type)),
    );
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
  const known = [...SPELLINGS, ...brought];
  const plugin = Object.hasOwn(TYPE_PLUGINS, type) ? TYPE_PLUGINS[type] : undefined;
  const similar = nearest(type, [...known, ...Object.keys(TYPE_PLUGINS)]);
  const meant = similar === undefined ? "" : ` Did you mean "${similar}"?`;
  return {
    path: ["servers", name, "type"],
    message: `No plugin in use brings the server type ${JSON.stringify(type)}.`,
    hint:
      plugin === undefined
        ? `Types: ${known.join(", ")}; others come with plugins.${meant}`
        : `Add the plugin that does: plugins: { ${plugin}: {} }.`,
  };
}
