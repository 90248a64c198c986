import type { Call } from "propylon";
import type { Listed } from "propylon/kit";
import type { Flag } from "../service.ts";

/** What is switched on and off at one server. Absent tools are on. */
export interface ServerFlags {
  readonly enabled: boolean;
  readonly tools: ReadonlyMap<string, boolean>;
}

/** Flags of all servers by config key; absent servers are on. Never changed, only replaced. */
export type FlagMap = ReadonlyMap<string, ServerFlags>;

const ON: ServerFlags = { enabled: true, tools: new Map() };

/** A server's own flag. */
export function isServerOn(flags: FlagMap, server: string): boolean {
  return flags.get(server)?.enabled ?? true;
}

/** A tool's own flag, whatever its server's is. */
export function isToolOn(flags: FlagMap, server: string, tool: string): boolean {
  return flags.get(server)?.tools.get(tool) ?? true;
}

/** Every flag that is set, whichever way. */
export function* flagsOf(flags: FlagMap): Iterable<Flag> {
  for (const [server, { enabled, tools }] of flags) {
    yield { server, enabled };
    for (const [tool, on] of tools) yield { server, tool, enabled: on };
  }
}

/** What refuses a call: the server, its tool, or nothing. Asked for every call: two look-ups in memory, no I/O. */
export function refusing(flags: FlagMap, call: Call): "server" | "tool" | undefined {
  const own = flags.get(call.server);
  if (own === undefined) return undefined;
  if (!own.enabled) return "server";
  return call.method === "tools/call" && own.tools.get(call.name) === false ? "tool" : undefined;
}

/** Whether a list may show something. */
export function isShown(flags: FlagMap, { server, kind, name }: Listed): boolean {
  const own = flags.get(server);
  if (own === undefined) return true;
  return own.enabled && (kind !== "tool" || own.tools.get(name) !== false);
}

/** Sets flags one after the other; tells which of them changed anything, in order. */
export function withFlags(
  flags: FlagMap,
  wanted: readonly Flag[],
): { readonly flags: FlagMap; readonly changed: readonly Flag[] } {
  const next = new Map(flags);
  const changed = wanted.filter((flag) => {
    const own = next.get(flag.server) ?? ON;
    const current = flag.tool === undefined ? own.enabled : (own.tools.get(flag.tool) ?? true);
    if (current === flag.enabled) return false;
    next.set(flag.server, withFlag(own, flag));
    return true;
  });
  return { flags: next, changed };
}

function withFlag(own: ServerFlags, { tool, enabled }: Flag): ServerFlags {
  if (tool === undefined) return { ...own, enabled };
  return { ...own, tools: new Map(own.tools).set(tool, enabled) };
}

/** Drops what is set for tools that a server does not have. The same object when there is none. */
export function withoutStaleTools(
  flags: FlagMap,
  server: string,
  live: ReadonlySet<string>,
): FlagMap {
  const own = flags.get(server);
  if (own === undefined || [...own.tools.keys()].every((tool) => live.has(tool))) return flags;
  const tools = new Map([...own.tools].filter(([tool]) => live.has(tool)));
  return new Map(flags).set(server, { ...own, tools });
}

/** Drops what is set for servers that are gone. The same object when there is none. */
export function withoutStaleServers(flags: FlagMap, exists: (server: string) => boolean): FlagMap {
  const kept = [...flags].filter(([server]) => exists(server));
  return kept.length === flags.size ? flags : new Map(kept);
}
