import type { ConfigPath, PathIssue } from "../../config/issue.ts";
import type { Places } from "../../config/config.ts";
import { configObject } from "../../config/schema.ts";
import { nearest } from "../../kit/spelling.ts";
import { isPlainObject } from "../../kit/json.ts";

/** A config whose `mcpServers` block and other clients' spellings became plain `servers`. */
export interface Translated {
  readonly value: unknown;
  readonly issues: readonly PathIssue[];
  /** Keys that other clients know and we do not; they were left out. */
  readonly warnings: readonly PathIssue[];
}

/** What clients call the transports, in lower case without `-` and `_`. */
const TRANSPORTS: Readonly<Record<string, "stdio" | "streamable-http" | "sse">> = {
  stdio: "stdio",
  http: "streamable-http",
  https: "streamable-http",
  streamablehttp: "streamable-http",
  sse: "sse",
};

/** How people write them. */
export const SPELLINGS = ["stdio", "http", "streamable-http", "sse"] as const;

/**
 * The file of another client has settings of its own beside its servers, e.g. `globalShortcut`. They are left out, unless
 * anything else there is ours, or nearly: then it may be a mistake in our own file.
 *
 * @param plugins names that may be sections
 * @param warnings where to tell of them
 */
export function dropSettings(
  file: Record<string, unknown>,
  plugins: readonly string[],
  warnings: PathIssue[],
): Record<string, unknown> {
  const { mcpServers, ...rest } = file;
  const own = Object.keys(configObject.shape);
  const keys = Object.keys(rest);
  const isOurs = (key: string): boolean => plugins.includes(key) || nearest(key, own) !== undefined;
  if (mcpServers === undefined || keys.some(isOurs)) return file;
  for (const key of keys)
    warnings.push({
      path: [key],
      at: "key",
      message: `The key "${key}" is ignored.`,
      hint: "It is a setting of the client that this file was made for.",
    });
  return { mcpServers };
}

/**
 * Accepts the `mcpServers` block of Claude, Cursor and others verbatim, and VS Code's `servers` with `type`: transport names are
 * normalised, `serverUrl` is `url`, `disabled` is the opposite of `enabled`, `disabledTools` become `tools.exclude`.
 *
 * @param keys those that the gateway knows of a pasted entry; without any, none is left out
 */
export function translateClients(
  config: Record<string, unknown>,
  places: Places,
  keys: ReadonlySet<string>,
): Translated {
  const issues: PathIssue[] = [];
  const warnings: PathIssue[] = [];
  const { mcpServers, ...rest } = config;
  if (mcpServers !== undefined && !isPlainObject(mcpServers)) {
    issues.push({
      path: ["mcpServers"],
      message: "mcpServers must be a map of servers by name.",
      hint: 'Paste the block of a client as it is: mcpServers: { search: { command: "npx", args: [...] } }.',
    });
  }
  const pasted = isPlainObject(mcpServers) ? mcpServers : {};
  const own = rest["servers"];
  // A wrong `servers` goes on to the schema, which says what is wrong with it.
  if (own !== undefined && own !== null && !isPlainObject(own))
    return { value: rest, issues, warnings };
  const servers: Record<string, unknown> = {};
  for (const [name, server] of Object.entries(own ?? {}))
    servers[name] = translateServer(server, { path: ["servers", name], name, issues, places });
  for (const [name, server] of Object.entries(pasted)) {
    const path = ["mcpServers", name];
    if (Object.hasOwn(servers, name)) {
      issues.push({
        path,
        at: "key",
        message: `The server "${name}" is in servers as well as in mcpServers.`,
        hint: "Rename or remove one of the two.",
      });
      continue;
    }
    places.move(path, ["servers", name]);
    const foreign = { keys, warnings };
    servers[name] = translateServer(server, { path, name, issues, places, foreign });
  }
  const some = own !== undefined || mcpServers !== undefined;
  return { value: some ? { ...rest, servers } : rest, issues, warnings };
}

/** An entry of `servers` that is being translated. */
interface Entry {
  readonly name: string;
  /** Where it stands in the file. */
  readonly path: ConfigPath;
  readonly issues: PathIssue[];
  readonly places: Places;
  /** The keys that are known, and where to tell of others; absent, they are left in for the schema to refuse. */
  readonly foreign?: { readonly keys: ReadonlySet<string>; readonly warnings: PathIssue[] };
}

/** Of `disabled`, also where a variable says it, which is text. */
const OPPOSITES: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [true, false],
  [false, true],
  ["true", false],
  ["false", true],
]);

function translateServer(server: unknown, entry: Entry): unknown {
  if (!isPlainObject(server)) return server;
  const { path, issues, foreign } = entry;
  const { type, serverUrl, disabled, disabledTools, disabled_tools, ...kept } = server;
  const result: Record<string, unknown> = foreign ? withoutNulls(kept) : kept;
  const typed = type !== undefined && isPluginType(type, server);
  if (serverUrl !== undefined) adopt(result, "url", serverUrl, "serverUrl", entry);
  if (typed) result["type"] = type;
  else if (type !== undefined && !isWrittenOut(type, kept))
    adopt(result, "transport", type, "type", entry);
  if (disabled !== undefined)
    adopt(result, "enabled", OPPOSITES.get(disabled) ?? disabled, "disabled", entry);
  if (disabledTools !== undefined) excludeTools(result, disabledTools, "disabledTools", entry);
  else if (disabled_tools !== undefined)
    excludeTools(result, disabled_tools, "disabled_tools", entry);
  // What else such an entry has is for its plugin to check.
  if (typed) return result;
  const written = kept["transport"] === undefined ? "type" : "transport";
  if (result["transport"] !== undefined) normaliseTransport(result, [...path, written], issues);
  if (foreign && foreign.keys.size > 0) dropForeign(result, path, foreign);
  return result;
}

/** A config in force says `type: http` beside its transport. */
function isWrittenOut(type: unknown, { transport }: Record<string, unknown>): boolean {
  return type === "http" && transport !== undefined;
}

/** Clients that write every key write null for "not set". */
function withoutNulls(entry: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
}

/** Whether a `type` is one that a plugin brings, rather than a transport or a slip of the pen in one. */
function isPluginType(type: unknown, entry: Record<string, unknown>): boolean {
  if (typeof type !== "string" || transportOf(type) !== undefined) return false;
  const mcp = "url" in entry || "serverUrl" in entry || "command" in entry;
  return !mcp || nearest(type, SPELLINGS) === undefined;
}

/** The transport that a name stands for, however it is spelt. */
export function transportOf(name: string): "stdio" | "streamable-http" | "sse" | undefined {
  const plain = name.toLowerCase().replaceAll(/[-_]/g, "");
  return Object.hasOwn(TRANSPORTS, plain) ? TRANSPORTS[plain] : undefined;
}

function adopt(
  result: Record<string, unknown>,
  key: string,
  value: unknown,
  alias: string,
  { path, name, issues, places }: Entry,
  group: readonly string[] = [],
): void {
  const own = [...group, key];
  if (result[key] === undefined) {
    result[key] = value;
    places.move(["servers", name, alias], ["servers", name, ...own]);
  } else
    issues.push({
      path: [...path, alias],
      at: "key",
      message: `Both ${own.join(".")} and ${alias} are set.`,
      hint: `Keep ${own.join(".")}, remove ${alias}.`,
    });
}

function excludeTools(
  result: Record<string, unknown>,
  hidden: unknown,
  alias: string,
  entry: Entry,
): void {
  const tools = result["tools"] ?? {};
  if (!isPlainObject(tools)) return;
  result["tools"] = { ...tools };
  adopt(result["tools"] as Record<string, unknown>, "exclude", hidden, alias, entry, ["tools"]);
}

/** @param path where the transport stands in the file */
function normaliseTransport(
  result: Record<string, unknown>,
  path: ConfigPath,
  issues: PathIssue[],
): void {
  const named = result["transport"];
  const transport = typeof named === "string" ? transportOf(named) : undefined;
  if (transport === undefined) {
    const similar = typeof named === "string" ? nearest(named, SPELLINGS) : undefined;
    const meant = similar === undefined ? "" : ` Did you mean "${similar}"?`;
    issues.push({
      path,
      message: "The transport is not one of stdio, http, streamable-http and sse.",
      hint: `Choose one of them, or leave the line out.${meant}`,
    });
    delete result["transport"];
  } else if (transport === "stdio") {
    delete result["transport"];
    if (result["command"] === undefined)
      issues.push({
        path: path.slice(0, -1),
        message: "A stdio server needs a command.",
        hint: "Add command, or set the transport to http if it has a url.",
      });
  } else if (result["command"] !== undefined) {
    issues.push({
      path,
      message: `A server with a command cannot have the transport ${transport}.`,
      hint: "Remove the transport, or replace command and args by url.",
    });
    delete result["transport"];
  } else result["transport"] = transport;
}

function dropForeign(
  result: Record<string, unknown>,
  path: ConfigPath,
  { keys, warnings }: NonNullable<Entry["foreign"]>,
): void {
  for (const key of Object.keys(result)) {
    if (keys.has(key)) continue;
    const similar = nearest(key, keys);
    const hint =
      similar === undefined
        ? "Other clients may use it; the gateway does not."
        : `Did you mean "${similar}"?`;
    warnings.push({
      path: [...path, key],
      at: "key",
      message: `The key "${key}" is ignored.`,
      hint,
    });
    delete result[key];
  }
}
