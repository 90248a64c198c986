import { pathText, type ConfigIssue, type ConfigPath, type PathIssue } from "./issue.ts";
import { maskText } from "../kit/mask.ts";
import { isPlainObject } from "../kit/json.ts";
import type { GatewayConfig } from "./schema.ts";
import type { Expanded } from "./variables.ts";

/** A config that was read, with what is needed to talk about it. Made once, from text or an object; nothing reads it again. */
export class Config {
  readonly values: GatewayConfig;
  /** Where its parts stand in the file, and what came from the environment. */
  readonly places: Places;
  /** Values that came from the environment; give them to `maskConfig` before showing anything. */
  readonly secrets: ReadonlySet<string>;
  /** Options of its servers, by name, as the schemas of their types made them. */
  readonly entries: ReadonlyMap<string, unknown>;

  constructor(
    values: GatewayConfig,
    places: Places,
    secrets: ReadonlySet<string> = new Set(),
    entries: ReadonlyMap<string, unknown> = new Map(),
  ) {
    this.values = values;
    this.places = places;
    this.secrets = secrets;
    this.entries = entries;
  }

  /** The same config with other values, each at the place of what it replaces. */
  with(values: Partial<GatewayConfig>): Config {
    return new Config({ ...this.values, ...values }, this.places, this.secrets, this.entries);
  }

  /** Gives a problem its place, and takes the secrets out of its words. */
  place(issue: PathIssue): ConfigIssue {
    return placeIssue(issue, this);
  }
}

/** As {@link Config.place}, for a config that is still being read. */
export function placeIssue(
  issue: PathIssue,
  { places, secrets }: Pick<Config, "places" | "secrets">,
): ConfigIssue {
  const { message, hint, place } = places.place(issue);
  return { message: maskText(message, secrets), hint: maskText(hint, secrets), place };
}

/** Line and column of an offset in a text, both from 1. */
export type LineOf = (offset: number) => { readonly line: number; readonly column: number };

/** What a part of a config was read from: a file, or an override in it. */
export interface ConfigLayer {
  /** What the file is called in messages. */
  readonly file: string;
  /** Absent for code, of which nobody knows the lines. */
  readonly lineOf?: LineOf | undefined;
}

/** A part of a config: where it stands in the text, and the parts below it by key or index. */
export interface Part {
  /** Its path in the file. */
  readonly written: ConfigPath;
  /** Offset of its key; absent in a list, and where there is no text. */
  readonly key?: number | undefined;
  /** Offset of its value; absent too where nothing stands behind the key. */
  readonly value?: number | undefined;
  readonly parts: Map<string, Part>;
  /** Absent for what is in no file. */
  readonly layer?: ConfigLayer | undefined;
  expanded?: Expanded;
}

/**
 * Where the parts of a config stand in its files. What is moved in the config while it is read is moved here too, so that a path of
 * the config in force leads to what a person wrote.
 */
export class Places {
  /** What the file is called in messages. */
  readonly file: string;
  /** The whole config. */
  readonly root: Part;
  #isExpanded = false;

  /** @param root of the file; without one an issue has a path and no line */
  constructor(file: string, root: Part = { written: [], parts: new Map() }) {
    this.file = file;
    this.root = root;
  }

  /** Gives an issue its place: of the key itself, or of the value; of the nearest parent that exists when there is none. */
  place({ message, hint, path, at }: PathIssue): ConfigIssue {
    const found = this.#partsOn(path);
    const layer = found.findLast((part) => part.layer)?.layer;
    const offset = found
      .map((part, depth) => ({ part, isAsked: depth === path.length && at === "key" }))
      .filter(({ part }) => part.layer === layer)
      .map(({ part: { key, value }, isAsked }) => (isAsked ? key : (value ?? key)))
      .findLast((each) => each !== undefined);
    const line = layer?.lineOf?.(offset ?? 0);
    const file = layer?.file ?? this.file;
    return { message, hint, place: { file, ...line, path: pathText(this.written(path)) } };
  }

  /** Where something stands itself; `undefined` for what is in no file. */
  find(path: ConfigPath): { file: string; line?: number; column?: number } | undefined {
    const part = this.partAt(path);
    if (!part?.layer) return undefined;
    const { file, lineOf } = part.layer;
    const offset = part.value ?? part.key;
    return { file, ...(offset !== undefined && lineOf?.(offset)) };
  }

  /** What stands at a path itself. */
  partAt(path: ConfigPath): Part | undefined {
    return this.#partsOn(path)[path.length];
  }

  /** The path that something has in the file. */
  written(path: ConfigPath): ConfigPath {
    const found = this.#partsOn(path);
    return [...found.at(-1)!.written, ...path.slice(found.length - 1)];
  }

  /** What a string is made of that took values from the environment. */
  expandedAt(path: ConfigPath): Expanded | undefined {
    return this.partAt(path)?.expanded;
  }

  /** Whether any string took values from the environment. */
  get isExpanded(): boolean {
    return this.#isExpanded;
  }

  /** Says what a string is made of. */
  expand(path: ConfigPath, expanded: Expanded): void {
    this.#isExpanded = true;
    this.#make(path).expanded = expanded;
  }

  /** Says that what stands at one path of the file is at another of the config. The first still leads there. */
  move(from: ConfigPath, to: ConfigPath): void {
    this.#make(to.slice(0, -1)).parts.set(String(to.at(-1)), this.#make(from));
  }

  /** The parts on the way to a path, from the top, as far as there are any. */
  #partsOn(path: ConfigPath): readonly Part[] {
    const found = [this.root];
    for (const key of path) {
      const part = found.at(-1)!.parts.get(String(key));
      if (!part) break;
      found.push(part);
    }
    return found;
  }

  /** Most parts are there; what is not is made, and stands in no file. */
  #make(path: ConfigPath): Part {
    let part = this.root;
    for (const key of path) {
      const next = part.parts.get(String(key)) ?? {
        written: [...part.written, key],
        parts: new Map(),
      };
      part.parts.set(String(key), next);
      part = next;
    }
    return part;
  }
}

/** A config as its file has it. */
export interface ConfigText {
  readonly value: unknown;
  /** Syntax problems; when there are any, `value` is `undefined`. */
  readonly issues: readonly ConfigIssue[];
  readonly places: Places;
}

/** Parts of a value that is in a file without lines, such as code. */
export function partsOf(value: unknown, layer: ConfigLayer, written: ConfigPath = []): Part {
  const members: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.map((item, index) => [index, item] as const)
    : isPlainObject(value)
      ? Object.entries(value)
      : [];
  const parts = members.map(
    ([key, item]) => [String(key), partsOf(item, layer, [...written, key])] as const,
  );
  return { written, parts: new Map(parts), layer };
}
