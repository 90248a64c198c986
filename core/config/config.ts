import { pathText, type ConfigIssue, type ConfigPath, type PathIssue } from "./issue.ts";
import { maskText } from "../kit/mask.ts";
import { isPlainObject } from "../kit/json.ts";
import type { GatewayConfig, GatewayConfigInput } from "./schema.ts";
import type { Expanded } from "./variables.ts";
import { z } from "zod";
import { limitsSchema, timeoutsSchema } from "./bounds.ts";
import { entryCommon } from "./server-schema.ts";
import type { Shape } from "./shape.ts";
import { unitOf, writeValue } from "../kit/units.ts";

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
  /** Absent for what is not in any file. */
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

  /** Where something stands itself; `undefined` for what is not in any file. */
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

type Group = Readonly<Record<string, unknown>>;

/** Groups of configs that were read. */
const read = new WeakSet<object>();

/** Notes which groups are those of a config that was read; see {@link readGroups}. */
export function noteRead({ limits, timeouts, servers }: GatewayConfig): void {
  for (const group of [limits, timeouts, ...Object.values(servers)]) read.add(group);
}

/** Where a value has groups of a config that was read, whose bare numbers would be taken for seconds. */
export function readGroups(value: unknown): readonly PathIssue[] {
  if (!isPlainObject(value)) return [];
  const { limits, timeouts, servers } = value;
  const entries = isPlainObject(servers) ? Object.entries(servers) : [];
  const groups: readonly (readonly [ConfigPath, unknown])[] = [
    [["limits"], limits],
    [["timeouts"], timeouts],
    ...entries.map(([name, entry]) => [["servers", name], entry] as const),
  ];
  return groups
    .filter(([, group]) => typeof group === "object" && group !== null && read.has(group))
    .map(([path]) => ({
      path,
      message: `${pathText(path)} is of a config that was read: its times are milliseconds.`,
      hint: "Take it from gateway.written, where they have their unit.",
    }));
}

/**
 * A config that was read, as people write one: durations and sizes with their unit, so that it means the same however it is copied
 * and wherever it is read again. A bare number is milliseconds in the one and seconds in the other.
 */
export function writeConfig(config: GatewayConfig): GatewayConfigInput {
  const { limits, timeouts, servers } = config;
  return {
    ...config,
    limits: writeGroup(limits, limitsSchema.shape),
    timeouts: writeGroup(timeouts, timeoutsSchema.shape),
    servers: Object.fromEntries(
      Object.entries(servers).map(([name, server]) => [name, writeServer(server)]),
    ),
  } as GatewayConfigInput;
}

/** The same of one of its servers; the options of its type are as somebody would write them already. */
export function writeServer(server: Group): Group {
  return writeGroup(server, entryCommon);
}

function writeGroup(group: Group, shape: z.core.$ZodShape): Group {
  const entries = Object.entries(group).map(([key, value]) => {
    const schema = Object.hasOwn(shape, key) ? shape[key] : undefined;
    return [key, schema === undefined ? value : writeValue(schema, value)];
  });
  return Object.fromEntries(entries) as Group;
}

const COMMON: ReadonlySet<string> = new Set(["type", ...Object.keys(entryCommon)]);

/** What an entry has that every entry may have, its type included. */
export function commonOptions(entry: Group): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => COMMON.has(key)));
}

/** What it has besides. */
export function ownOptions(entry: Group): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !COMMON.has(key)));
}

const shapes = new WeakMap<z.ZodType, Shape>();

/** What may be written for a schema. Defaults are as somebody would write them; what takes a unit says so. */
export function inputShape(schema: z.ZodType): Shape {
  const known = shapes.get(schema) ?? makeShape(schema);
  shapes.set(schema, known);
  return known;
}

function makeShape(schema: z.ZodType): Shape {
  return z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // Of what is read as something else, such as a duration, zod leaves the default out.
      if (def.type === "default") jsonSchema.default = writeValue(zodSchema, def.defaultValue);
      const unit = unitOf(zodSchema);
      if (unit !== undefined) jsonSchema.format = unit;
    },
  }) as Shape;
}

/** What somebody wrote, with the defaults of what they left out. A group that may have several forms has the defaults of none. */
export function withDefaults(shape: Shape, written: unknown): unknown {
  const value = written === undefined ? shape.default : written;
  const groups = [shape, ...(shape.anyOf ?? [])].flatMap(({ properties }) => properties ?? []);
  if (!isPlainObject(value) || groups.length !== 1) return value;
  const options = Object.entries(groups[0]!)
    .map(([key, each]) => {
      const own = Object.hasOwn(value, key) ? value[key] : undefined;
      return [key, withDefaults(each, own)] as const;
    })
    .filter(([, option]) => option !== undefined);
  return { ...value, ...Object.fromEntries(options) };
}
