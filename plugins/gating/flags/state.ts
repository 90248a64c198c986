import type { FlagMap, ServerFlags } from "./flags.ts";
import type { GatingState, ServerState } from "../service.ts";

/** When a server was last connected, and why it last was not. */
export interface ConnectionHistory {
  readonly lastInit: string | null;
  readonly lastError: string | null;
  /** Failed connects in a row. */
  readonly attempts: number;
}

/** What is known of a server that was never connected. */
export const NO_HISTORY: ConnectionHistory = { lastInit: null, lastError: null, attempts: 0 };

/** Content of a state file. */
export interface Remembered {
  readonly version: number;
  readonly flags: FlagMap;
  readonly history: ReadonlyMap<string, ConnectionHistory>;
}

/** The version this gateway writes. */
export const STATE_VERSION = 1;

type Members = Readonly<Record<string, unknown>>;

/**
 * Reads a state file of any version: the minimal form `{server_enabled, tool_enabled}`, versions 0 and 1, and of
 * later ones what is known. Unknown members are ignored; of two that disagree, off counts.
 *
 * @throws {Error} saying what is wrong; something that is not understood must not switch anything on
 */
export function parseState(text: string): Remembered {
  const root = members(JSON.parse(text), "the file");
  const version = root["version"] ?? 0;
  if (typeof version !== "number" || !Number.isSafeInteger(version) || version < 0)
    throw new Error("version is not a whole number");
  const flags = new Map<string, ServerFlags>();
  const history = new Map<string, ConnectionHistory>();
  for (const [name, value] of entries(root, "servers")) readServer(name, value, flags, history);
  for (const [name, value] of entries(root, "server_enabled"))
    merge(flags, name, { enabled: flag(value, `server_enabled.${name}`), tools: new Map() });
  for (const [name, value] of entries(root, "tool_enabled"))
    merge(flags, name, { enabled: true, tools: readTools(value, `tool_enabled.${name}`) });
  return { version, flags, history };
}

/** A state as version 1 of the file. */
export function toState(
  flags: FlagMap,
  history: ReadonlyMap<string, ConnectionHistory>,
  updatedAt: string,
): GatingState {
  const names = [...new Set([...flags.keys(), ...history.keys()])].toSorted();
  const servers = names.map((name): [string, ServerState] => {
    const { enabled = true, tools = new Map<string, boolean>() } = flags.get(name) ?? {};
    const sorted = [...tools].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const written = sorted.map(([tool, on]) => [tool, { enabled: on }] as const);
    return [
      name,
      { enabled, tools: Object.fromEntries(written), ...(history.get(name) ?? NO_HISTORY) },
    ];
  });
  return { version: STATE_VERSION, servers: Object.fromEntries(servers), updatedAt };
}

function readServer(
  name: string,
  value: unknown,
  flags: Map<string, ServerFlags>,
  history: Map<string, ConnectionHistory>,
): void {
  const at = `servers.${name}`;
  if (typeof value === "boolean") return merge(flags, name, { enabled: value, tools: new Map() });
  const own = members(value, at);
  const { lastInit, lastError, attempts } = own;
  merge(flags, name, {
    enabled: flag(own["enabled"] ?? true, `${at}.enabled`),
    tools: readTools(own["tools"] ?? {}, `${at}.tools`),
  });
  history.set(name, {
    lastInit: textOrNull(lastInit),
    lastError: textOrNull(lastError),
    attempts: countOrNone(attempts),
  });
}

function readTools(value: unknown, at: string): Map<string, boolean> {
  return new Map(
    Object.entries(members(value, at)).map(([tool, own]) => {
      const place = `${at}.${tool}`;
      return [
        tool,
        typeof own === "boolean" ? own : flag(members(own, place)["enabled"] ?? true, place),
      ];
    }),
  );
}

function merge(flags: Map<string, ServerFlags>, name: string, more: ServerFlags): void {
  const own = flags.get(name);
  const tools = new Map(own?.tools);
  for (const [tool, on] of more.tools) tools.set(tool, on && tools.get(tool) !== false);
  flags.set(name, { enabled: more.enabled && own?.enabled !== false, tools });
}

function entries(root: Members, key: string): [string, unknown][] {
  return root[key] === undefined ? [] : Object.entries(members(root[key], key));
}

function members(value: unknown, at: string): Members {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  throw new Error(`${at} is not an object`);
}

function flag(value: unknown, at: string): boolean {
  if (typeof value === "boolean") return value;
  throw new Error(`${at} is neither true nor false`);
}

function countOrNone(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
