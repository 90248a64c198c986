import { basename } from "node:path";
import type { Entry } from "./entry.ts";

/** A package of npm that a server starts from. */
export interface Package {
  readonly name: string;
  /** Version, range or tag. */
  readonly range: string;
  /** The entry that runs it from `node_modules`. */
  readonly entry: Entry;
}

const SPEC = /^((?:@[\w.-]+\/)?[a-z\d][\w.-]*)(?:@([\w.+~^<>=*-]+))?$/i;
const SILENT: ReadonlySet<string> = new Set(["-y", "--yes", "-q", "--quiet"]);

/** Whether npx starts a server: without its package in the project it asks the registry, which an image cannot. */
export function usesNpx({ command }: Entry): boolean {
  return command !== undefined && /^npx(?:\.cmd)?$/.test(basename(command));
}

/** The package that npx is asked for; `undefined` for a folder, a URL, or words that are not understood. */
export function findPackage(entry: Entry): Package | undefined {
  const { args = [] } = entry;
  const at = args.findIndex((word) => !SILENT.has(word));
  const [, name, range = "latest"] = SPEC.exec(args[at] ?? "") ?? [];
  if (!usesNpx(entry) || name === undefined) return undefined;
  // npx asks the registry what a tag means, also when the package is there.
  const isTag = /^[a-z]+$/i.test(range);
  return { name, range, entry: { ...entry, args: isTag ? args.with(at, name) : args } };
}
