import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { stringify } from "yaml";
import { isMap, KNOWN, translateEntry, Unusable, type Entry } from "./entry.ts";
import { Failure } from "./failure.ts";
import { findPackage, usesNpx } from "./packages.ts";
import { readJson } from "./jsonc.ts";
import { Variables, type Environment } from "./variables.ts";

/** Where other programs keep their servers, relative to a folder. */
const FILES = [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", "claude_desktop_config.json"];

/** Names that no server of a gateway may have; as RESERVED_SERVERS of propylon, which a test compares. */
export const RESERVED: ReadonlySet<string> = new Set([
  ..."_meta mcp ui healthz health metrics api .well-known docs openapi.json _jobs mcp_server oauth oauth-client . ..".split(
    " ",
  ),
  ...Object.getOwnPropertyNames(Object.prototype),
]);

/** Servers taken over from the files of other programs. */
export interface Imported {
  /** The block for gateway.yaml, as text; `""` without servers. */
  readonly yaml: string;
  readonly names: readonly string[];
  /** For `.env`: what stood there literally, and something for what only the user knows. */
  readonly values: ReadonlyMap<string, string>;
  /** Those of `values` that only the user knows. */
  readonly blanks: ReadonlySet<string>;
  /** What the servers start from, for `dependencies`: an image downloads nothing. */
  readonly packages: ReadonlyMap<string, string>;
  /** What is not as it was, in sentences. */
  readonly notes: readonly string[];
}

/** Where servers are taken over to. */
export interface Target extends Environment {
  /** Absolute path of the new gateway. */
  readonly directory: string;
  /** Names in use there. */
  readonly servers: ReadonlySet<string>;
}

/** Files in a folder that have servers. */
export function findServerFiles(folder: string): readonly string[] {
  return FILES.filter((name) => existsSync(join(folder, name)));
}

/**
 * Takes over the servers of files, in order; of two servers of one name the first counts. The result passes `propylon check`.
 *
 * @throws {Failure} for a file that cannot be read, or in which there is no server that a gateway can run
 */
export function importServers(files: readonly string[], target: Target): Imported {
  const variables = new Variables(target);
  const lists = { block: new Map(), seen: new Set<string>(), packages: new Map(), notes: [] };
  const removal: Removal = { target, variables, ...lists };
  for (const file of files) importFile(file, removal);
  const { block, packages, notes } = removal;
  const mcpServers = Object.fromEntries(block);
  // A block of lines that begins with a blank would lose it.
  const style = { lineWidth: 0, blockQuote: false } as const;
  const yaml = block.size === 0 ? "" : stringify({ mcpServers }, style);
  const { values, blanks } = variables;
  return { yaml, names: [...block.keys()], values, blanks, packages, notes };
}

/** Servers on their way into a gateway. */
interface Removal {
  readonly target: Target;
  readonly variables: Variables;
  readonly block: Map<string, Entry>;
  /** Names as they were. */
  readonly seen: Set<string>;
  readonly packages: Map<string, string>;
  readonly notes: string[];
}

function importFile(file: string, removal: Removal): void {
  const { servers, ...places } = readServers(file);
  const { target, variables, block, seen, notes } = removal;
  const before = block.size;
  for (const [name, foreign] of Object.entries(servers)) {
    const server = freeName(name, new Set([...target.servers, ...block.keys()]));
    const move = { ...places, server, variables, directory: target.directory };
    try {
      if (seen.has(name)) throw new Unusable("there is one of that name already");
      if (!isMap(foreign)) throw new Unusable("it is not a map");
      block.set(server, packaged(name, translateEntry(foreign, move), removal));
      seen.add(name);
      notes.push(...notesOn(name, server, foreign));
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      notes.push(`"${name}" of ${file} was left out: ${error.message}.`);
    }
  }
  if (before === 0 && block.size === 0)
    throw new Failure(`${file} has no server to import. ${notes.join(" ")}`);
}

/** The entry with its package among the dependencies. */
function packaged(name: string, entry: Entry, { packages, notes }: Removal): Entry {
  if (!usesNpx(entry)) return entry;
  const found = findPackage(entry);
  const known = found && packages.get(found.name);
  if (found && (known === undefined || known === found.range)) {
    packages.set(found.name, found.range);
    return found.entry;
  }
  notes.push(
    `"${name}": the package that npx starts here is not a dependency of the project, so it is downloaded at every start, which an image does not do.`,
  );
  return entry;
}

interface ServerFile {
  readonly servers: Readonly<Record<string, unknown>>;
  readonly workspace: string;
  readonly inputs: ReadonlyMap<string, string>;
}

/** Claude and Cursor write `mcpServers`, VS Code `servers`, in its settings below `mcp`. */
function readServers(file: string): ServerFile {
  const content = readJson(file);
  const top = isMap(content) ? content : {};
  const inner = isMap(top["mcp"]) ? top["mcp"] : {};
  const found = [top["mcpServers"], top["servers"], inner["servers"]].find((value) => isMap(value));
  if (!isMap(found) || Object.keys(found).length === 0)
    throw new Failure(`${file} has no mcpServers. Leave out --import, or give another file.`);
  const folder = dirname(file);
  const isHidden = [".vscode", ".cursor"].includes(basename(folder));
  const inputs = readInputs(top["inputs"] ?? inner["inputs"]);
  return { servers: found, workspace: isHidden ? dirname(folder) : folder, inputs };
}

function readInputs(value: unknown): ReadonlyMap<string, string> {
  const inputs = Array.isArray(value) ? value.filter(isMap) : [];
  return new Map(
    inputs.flatMap(({ id, default: fallback }) =>
      typeof id === "string" && typeof fallback === "string" ? [[id, fallback] as const] : [],
    ),
  );
}

/** A name that a gateway takes, as close to the one in the file as what is taken allows. */
function freeName(name: string, taken: ReadonlySet<string>): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.-]+/g, "-").slice(0, 50);
  const isUsual = /[A-Za-z0-9]/.test(plain) && plain !== "__proto__";
  const base = isUsual ? plain : "server";
  const word = RESERVED.has(base) ? `${base.replaceAll(/\W|_/g, "")}-server` : base;
  for (let count = 1; ; count += 1) {
    const free = count === 1 ? word : `${word}-${count}`;
    if (!taken.has(free)) return free;
  }
}

function notesOn(name: string, server: string, foreign: Readonly<Record<string, unknown>>) {
  const ignored = Object.keys(foreign).filter((key) => !KNOWN.has(key));
  return [
    ...(name === server ? [] : [`"${name}" is called "${server}" now.`]),
    ...(ignored.length === 0
      ? []
      : [`"${name}": ${ignored.join(", ")} left out, a gateway has no use for it.`]),
  ];
}
