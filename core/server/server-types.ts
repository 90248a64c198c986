import { z } from "zod";
import { blame } from "../plugin/setup.ts";
import { SPELLINGS } from "../config/clients.ts";
import { unknownType } from "../config/checks.ts";
import { explainIssues } from "../config/explain.ts";
import { invalidConfig, type PathIssue } from "../config/issue.ts";
import { withoutMark } from "../config/copies.ts";
import type { Config } from "../config/config.ts";
import type { Places } from "../config/places.ts";
import { entryCommon, type ServerConfig, type TypedServerConfig } from "../config/server-schema.ts";
import type { Shape } from "../config/shape.ts";
import { GatewayError } from "../errors.ts";
import type { ManagedServer, ServerType } from "./server-type.ts";
import type { Catalogue } from "./server.ts";
import type { Scope } from "../plugin/scope.ts";

/** A server type with the plugin that brings it. */
interface BroughtType {
  readonly scope: Scope;
  readonly definition: ServerType;
}

/** An entry of `servers` with the type that serves it, checked. */
export interface TypedServer extends BroughtType {
  /** As the config has it. */
  readonly entry: ServerConfig;
  /** Its options as the plugin's schema made them. */
  readonly options: unknown;
}

/**
 * The entries of a config with the types that serve them, each checked by its type's schema. Those that are switched off are
 * checked too, as all others are.
 *
 * @throws {GatewayError} `invalid` with every problem and its place, `exists` for a type that two plugins bring
 */
export function typedServers(
  config: Config,
  scopes: readonly Scope[],
): ReadonlyMap<string, TypedServer> {
  const types = collectTypes(scopes);
  const brought = [...types.keys()].filter((type) => !ENTRY_TYPES.includes(type));
  const servers = new Map<string, TypedServer>();
  const issues: PathIssue[] = [];
  for (const [name, entry] of Object.entries(config.values.servers)) {
    if (!("type" in entry)) {
      // The schema of the config has checked it.
      const type = types.get("command" in entry ? "stdio" : "http");
      if (type) servers.set(name, { ...type, entry, options: entry });
      else issues.push(unserved(name));
      continue;
    }
    const type = types.get(entry.type);
    if (!type) issues.push(unknownType(name, entry.type, brought));
    else {
      const options = optionsOf(entry);
      const checked = type.definition.config.safeParse(options);
      if (checked.success) servers.set(name, { ...type, entry, options: checked.data });
      else issues.push(...explain(name, entry, type.definition, checked.error, config.places));
    }
  }
  if (issues.length > 0) throw invalidConfig(issues.map((issue) => config.place(issue)));
  return servers;
}

/**
 * Makes the server of an entry; it is not started.
 *
 * @param before lists of the server it replaces
 * @throws {GatewayError} naming the plugin
 */
export function createTyped(
  name: string,
  { scope, definition, options }: TypedServer,
  before: Catalogue | undefined,
): ManagedServer {
  try {
    const server = definition.create(name, options, before);
    scope.managed.add(server);
    return server;
  } catch (error) {
    throw blame(scope.name, `could not make the server "${name}"`, error);
  }
}

/** The types of entries that name none. */
const ENTRY_TYPES: readonly string[] = ["stdio", "http"];

function collectTypes(scopes: readonly Scope[]): ReadonlyMap<string, BroughtType> {
  const types = new Map<string, BroughtType>();
  for (const scope of scopes) {
    for (const { type, definition } of scope.serverTypes) {
      const other = types.get(type)?.scope.name;
      if (other !== undefined)
        throw new GatewayError(
          "exists",
          `The server type "${type}" is brought twice: by plugin "${other}" and by plugin "${scope.name}".`,
        );
      // Entries say `command` or `url` for these two, and never see them as a type.
      const isTransport = (SPELLINGS as readonly string[]).includes(type);
      if (isTransport && !ENTRY_TYPES.includes(type))
        throw new GatewayError(
          "invalid",
          `Plugin "${scope.name}" brings a server type "${type}", which is the name of a transport.`,
        );
      types.set(type, { scope, definition });
    }
  }
  return types;
}

function unserved(name: string): PathIssue {
  return {
    path: ["servers", name],
    at: "key",
    message: `No plugin in use serves the server "${name}".`,
    hint: "Leave out plugins.servers: false, or this entry.",
  };
}

function optionsOf(entry: TypedServerConfig): Record<string, unknown> {
  const common = new Set(["type", ...Object.keys(entryCommon)]);
  return Object.fromEntries(Object.entries(withoutMark(entry)).filter(([key]) => !common.has(key)));
}

/** As with the options of plugins: seen from the top of the config, so that paths and hints are those of the file. */
function explain(
  name: string,
  entry: TypedServerConfig,
  { config }: ServerType,
  error: z.ZodError,
  places: Places,
): PathIssue[] {
  const issues = error.issues.map((issue) => ({
    ...issue,
    path: ["servers", name, ...issue.path],
  }));
  const own = shapeOf(config);
  const shape: Shape = {
    properties: {
      servers: {
        properties: {
          [name]: {
            ...own,
            properties: { ...shapeOf(z.object(entryCommon)).properties, ...own.properties },
          },
        },
      },
    },
  };
  return explainIssues(issues, { servers: { [name]: entry } }, shape, places);
}

function shapeOf(schema: z.ZodType): Shape {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Shape;
}
