import { pathText, type ConfigIssue, type ConfigPath, type PathIssue } from "./issue.ts";
import { maskText } from "./mask.ts";
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

/** A part of a config: where it stands in the text, and the parts below it by key or index. */
export interface Part {
  /** Its path in the file. */
  readonly written: ConfigPath;
  /** Offset of its key; absent in a list, and where there is no text. */
  readonly key?: number | undefined;
  /** Offset of its value; absent too where nothing stands behind the key. */
  readonly value?: number | undefined;
  readonly parts: Map<string, Part>;
  expanded?: Expanded;
}

/**
 * Where the parts of a config stand in its file. What is moved in the config while it is read is moved here too, so that a path of
 * the config in force leads to what a person wrote.
 */
export class Places {
  /** What the file is called in messages. */
  readonly file: string;
  readonly #root: Part;
  readonly #lineOf: LineOf | undefined;

  /** @param root of a text; without one an issue has a path and no line */
  constructor(file: string, root: Part = { written: [], parts: new Map() }, lineOf?: LineOf) {
    this.file = file;
    this.#root = root;
    this.#lineOf = lineOf;
  }

  /** Gives an issue its place: of the key itself, or of the value; of the nearest parent that exists when there is none. */
  place({ message, hint, path, at }: PathIssue): ConfigIssue {
    const line = this.#lineOf?.(this.#offsetOf(path, at ?? "value"));
    return {
      message,
      hint,
      place: { file: this.file, ...line, path: pathText(this.written(path)) },
    };
  }

  /** Where something stands itself; `undefined` for what is not in the text. */
  find(path: ConfigPath): { file: string; line: number; column: number } | undefined {
    const parts = this.#partsOn(path);
    const { key, value } = parts.at(-1)!;
    const offset = value ?? key;
    if (parts.length <= path.length || offset === undefined || !this.#lineOf) return undefined;
    return { file: this.file, ...this.#lineOf(offset) };
  }

  /** The path that something has in the file. */
  written(path: ConfigPath): ConfigPath {
    const found = this.#partsOn(path);
    return [...found.at(-1)!.written, ...path.slice(found.length - 1)];
  }

  /** What a string is made of that took values from the environment. */
  expandedAt(path: ConfigPath): Expanded | undefined {
    return this.#partsOn(path)[path.length]?.expanded;
  }

  /** Says what a string is made of. */
  expand(path: ConfigPath, expanded: Expanded): void {
    this.#make(path).expanded = expanded;
  }

  /** Says that what stands at one path of the file is at another of the config. The first still leads there. */
  move(from: ConfigPath, to: ConfigPath): void {
    this.#make(to.slice(0, -1)).parts.set(String(to.at(-1)), this.#make(from));
  }

  #offsetOf(path: ConfigPath, target: "key" | "value"): number {
    const offsets = this.#partsOn(path).map(({ key, value }, depth) =>
      depth === path.length && target === "key" ? key : (value ?? key),
    );
    return offsets.findLast((offset) => offset !== undefined) ?? 0;
  }

  /** The parts on the way to a path, from the top, as far as there are any. */
  #partsOn(path: ConfigPath): readonly Part[] {
    const found = [this.#root];
    for (const key of path) {
      const part = found.at(-1)!.parts.get(String(key));
      if (!part) break;
      found.push(part);
    }
    return found;
  }

  #make(path: ConfigPath): Part {
    let part = this.#root;
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
