import { setImmediate } from "node:timers/promises";
import { type Catalogue, GatewayError, type Json } from "propylon";
import { isObject, usableEntries, makeCatalogue, ExactNumber } from "propylon/kit";
import {
  type EntryKind,
  type LeftOut,
  type ListName,
  changedLists,
  roundFractions,
  scalarText,
} from "propylon/internal";
import type { Connection } from "./connection.ts";
import { type Mirrors, readMirrors } from "../wire/envelope.ts";

/** Keywords whose value counts as a whole: with less in it a schema would accept something else. */
const WHOLE: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

/**
 * An entry of a list without the keywords that hold a number which was changed by being read, e.g. a `maximum` of 64 bits: a
 * schema without them accepts more, and the server checks for itself.
 *
 * @param found told the place of each
 */
function withoutInexact(value: Json, found: (path: string) => void, path = ""): Json {
  const kept = Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const at = path === "" ? key : `${path}.${key}`;
    if (isInexact(member, WHOLE.has(key))) {
      found(at);
      return [];
    }
    return [[key, within(member, found, at)]];
  });
  return Object.fromEntries(kept);
}

function within(member: unknown, found: (path: string) => void, at: string): unknown {
  if (Array.isArray(member)) return member.map((each) => within(each, found, at));
  return isObject(member) ? withoutInexact(member, found, at) : member;
}

/** Whether a value is such a number or a list with one; with `deep`, whether it holds one anywhere. */
function isInexact(value: unknown, deep: boolean): boolean {
  if (value instanceof ExactNumber) return true;
  if (Array.isArray(value)) return value.some((each) => isInexact(each, deep));
  return deep && isObject(value) && Object.values(value).some((each) => isInexact(each, true));
}

/** Pages of one list followed at most; a server that has more is broken. */
const MAX_PAGES = 1_000;
/** Entries of one list; each costs the event loop some microseconds to look at. */
const MAX_ENTRIES = 10_000;
/** How many are looked at in one turn of the event loop: all of them take it 0.4 s. */
const ENTRIES_A_TURN = 500;

interface ListKind {
  readonly key: EntryKind;
  readonly method: string;
  readonly list: ListName;
}

const KINDS: readonly ListKind[] = [
  { key: "tools", method: "tools/list", list: "tools" },
  { key: "resources", method: "resources/list", list: "resources" },
  {
    key: "resourceTemplates",
    method: "resources/templates/list",
    list: "resources",
  },
  { key: "prompts", method: "prompts/list", list: "prompts" },
];

type Lists = Pick<Catalogue, "tools" | "resources" | "resourceTemplates" | "prompts">;

/** What fetching the lists brought. */
export interface Fetched {
  readonly catalogue: Catalogue;
  /** Lists whose content differs from the previous catalogue. */
  readonly changed: readonly ListName[];
  readonly mirrors: Mirrors;
  /** Malformed entries, and tools with an invalid `x-mcp-header` (MCP 2026-07-28). */
  readonly leftOut: readonly LeftOut[];
  /** The first thing that went wrong, as a sentence; the list concerned is the old one, or as far as it came. */
  readonly problem: string | undefined;
}

/**
 * Reads the lists a server declares, every page of them.
 * @param only which lists to read; the others are taken from `previous`
 * @param timeout per page, in milliseconds
 */
export async function fetchLists(
  connection: Connection,
  previous: Catalogue,
  options: { readonly only?: ReadonlySet<ListName> | undefined; readonly timeout: number },
): Promise<Fetched> {
  const { capabilities, instructions, serverInfo, era } = connection.handshake!;
  const kinds = KINDS.filter(({ list }) => isObject(capabilities[list]));
  const lists: Record<ListKind["key"], readonly Json[]> = {
    tools: [],
    resources: [],
    resourceTemplates: [],
    prompts: [],
  };
  const leftOut: LeftOut[] = [];
  let problem: string | undefined;
  await Promise.all(
    kinds.map(async (kind) => {
      const old = previous[kind.key] as readonly Json[];
      if (options.only && !options.only.has(kind.list)) lists[kind.key] = old;
      else {
        const { entries, failure, broken, ...read } = await fetchList(
          connection,
          kind,
          options.timeout,
        );
        leftOut.push(...read.leftOut);
        problem ??= failure;
        // What was cut off says nothing about the rest: the old list, if there is one, is the better knowledge.
        lists[kind.key] = broken && old.length > 0 ? old : entries;
      }
    }),
  );
  const all = lists as unknown as Lists;
  const mirrored =
    era === "modern" && connection.wire.transport === "streamable-http"
      ? readMirrors(all.tools)
      : undefined;
  const catalogue = makeCatalogue({
    ...all,
    ...(mirrored && { tools: mirrored.tools }),
    capabilities,
    instructions,
    serverInfo,
  });
  return {
    catalogue,
    changed: changedLists(previous, catalogue),
    mirrors: mirrored?.mirrors ?? new Map(),
    leftOut: [...leftOut, ...refusedTools(mirrored?.refused)],
    problem,
  };
}

function refusedTools(refused: ReadonlyMap<string, string> = new Map()): LeftOut[] {
  return [...refused].map(([name, why]) => ({ kind: "tools", name, why }));
}

/** Hardly any entry holds a number that JavaScript does not. */
function exactEntry(kind: EntryKind, entry: unknown, leftOut: LeftOut[]): unknown {
  if (!isObject(entry) || !isInexact(entry, true)) return entry;
  const name = scalarText(entry["name"]);
  return withoutInexact(roundFractions(entry), (path) =>
    leftOut.push({ kind, name, why: `${path} alone: its number is beyond 2^53` }),
  );
}

async function readEntries(
  kind: EntryKind,
  items: readonly unknown[],
  leftOut: LeftOut[],
): Promise<Json[]> {
  const entries: Json[] = [];
  for (let at = 0; at < items.length; at += ENTRIES_A_TURN) {
    if (at > 0) await setImmediate();
    const some = items.slice(at, at + ENTRIES_A_TURN);
    const exact = some.map((item) => exactEntry(kind, item, leftOut));
    entries.push(...usableEntries(kind, exact, leftOut, at));
  }
  return entries;
}

interface ReadList {
  readonly entries: readonly Json[];
  readonly leftOut: readonly LeftOut[];
  readonly failure: string | undefined;
  readonly broken?: boolean;
}

async function fetchList(
  connection: Connection,
  kind: ListKind,
  timeout: number,
): Promise<ReadList> {
  const entries: Json[] = [];
  const leftOut: LeftOut[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  let seen = 0;
  try {
    for (let page = 0; page < MAX_PAGES; page++) {
      const { result, error } = await connection.request(
        kind.method,
        cursor === undefined ? {} : { cursor },
        { timeout },
      );
      // The bytes were looked at in this turn, which takes as long as to parse them.
      await setImmediate();
      // Declared but not there, typically resource templates: an empty list, not a fault.
      if (error?.code === -32601) return { entries, leftOut, failure: undefined };
      if (error)
        return {
          entries,
          leftOut,
          failure: `${kind.method} failed: ${error.message} (${error.code})`,
          broken: true,
        };
      const items = result![kind.key];
      if (!Array.isArray(items))
        return {
          entries,
          leftOut,
          failure: `${kind.method} answered without ${kind.key}`,
          broken: true,
        };
      entries.push(...(await readEntries(kind.key, items.slice(0, MAX_ENTRIES - seen), leftOut)));
      seen += items.length;
      if (seen > MAX_ENTRIES)
        return { entries, leftOut, failure: `${kind.method} has more than ${MAX_ENTRIES} entries` };
      const next = result!["nextCursor"];
      if (typeof next !== "string") return { entries, leftOut, failure: undefined };
      if (cursors.has(next))
        return {
          entries,
          leftOut,
          failure: `${kind.method} repeats the cursor ${JSON.stringify(next.slice(0, 80))}`,
        };
      cursors.add(next);
      cursor = next;
    }
    return {
      entries,
      leftOut,
      failure: `${kind.method} has more than ${MAX_PAGES} pages; the last cursor was ${JSON.stringify(cursor?.slice(0, 80))}`,
    };
  } catch (error) {
    if (error instanceof GatewayError && error.code !== "timeout") throw error;
    return {
      entries,
      leftOut,
      failure: `${kind.method} failed: ${(error as Error).message}`,
      broken: true,
    };
  }
}
