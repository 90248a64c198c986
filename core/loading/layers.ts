import { readFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { readCode } from "../config/code.ts";
import { placeIssue, Places, type Part } from "../config/config.ts";
import type { ConfigText } from "../config/document.ts";
import { isText } from "../config/file-names.ts";
import { invalidConfig, type ConfigIssue } from "../config/issue.ts";
import { isPlainObject } from "../config/names.ts";
import { environmentName, expand, type Environment } from "../config/variables.ts";
import type { GatewayError } from "../kit/errors.ts";
import { nearest } from "../kit/spelling.ts";
import { findLayer, readLayer, readSource } from "./layer-file.ts";

/** Files that one config may consist of. */
const MAX_LAYERS = 32;

/** Environments that most programs know; a name close to one of them is a mistake. */
const ENVIRONMENTS = ["production", "development", "staging", "test"];

/** How the files of a config are read. */
export interface LayerOptions {
  readonly environment: Environment;
  /** In place of the content of the first file. */
  readonly text?: string | undefined;
  /** Gets every file that was looked for, also where reading fails. */
  readonly files: Set<string>;
}

/** A config with the layers that it extends. */
export interface LayeredText {
  readonly value: unknown;
  readonly places: Places;
  /** SHA-256 of the first file, hex. */
  readonly version: string;
  /** Content of the first file; absent for code. */
  readonly text: string | undefined;
  readonly warnings: readonly ConfigIssue[];
}

/** A value with the places of its parts. */
interface Laid {
  readonly value: unknown;
  readonly part: Part;
}

/**
 * Reads a config, its overrides for this environment, and the files that it extends, and lays them over each other: maps are joined
 * key by key, everything else is replaced. Of c12, whose words these are, only code is loaded: its own walk goes round in a circle
 * for good, downloads what a layer names, joins lists, and forgets where a value stood.
 *
 * @throws {GatewayError} `invalid` with the problems of a file, or of a layer that cannot be had; `no_config` when the first file is
 * not there; `io_error`
 */
export async function readLayers(file: string, options: LayerOptions): Promise<LayeredText> {
  const shown = shownName(file);
  const { text: draft } = options;
  // The first file is never part of a build, so that it can be edited where it runs.
  const read = async (): Promise<string | Buffer> =>
    draft ?? (isText(file) ? readFile(file) : readCode(file));
  options.files.add(file);
  const source = await readSource(file, shown, read);
  const layers = new Layers(file, shown, options);
  const { value, part } = await layers.lay(file, source, []);
  const { version, text } = source;
  return { value, places: new Places(shown, part), version, text, warnings: layers.warnings };
}

/** The files below the first one. */
class Layers {
  readonly warnings: ConfigIssue[] = [];
  readonly #folder: string;
  readonly #shown: string;
  readonly #options: LayerOptions;
  #count = 1;

  constructor(file: string, shown: string, options: LayerOptions) {
    this.#folder = dirname(file);
    this.#shown = dirname(shown);
    this.#options = options;
  }

  /** @param above files that extend this one, the first one first */
  async lay(file: string, source: ConfigText, above: readonly string[]): Promise<Laid> {
    const own = this.#override({ value: source.value, part: source.places.root });
    const places = new Places(source.places.file, own.part);
    const { extends: sources, ...value } = own.value as Record<string, unknown>;
    const bases: Laid[] = [];
    for (const [index, name] of this.#sourcesIn(sources, places).entries()) {
      const path = Array.isArray(sources) ? ["extends", index] : ["extends"];
      const wrong = (message: string, hint: string): GatewayError =>
        invalidConfig([places.place({ path, message, hint })]);
      bases.push(await this.#base(name, [...above, file], wrong));
    }
    return [{ ...own, value }, ...bases].reduceRight((lower, upper) => layOver(upper, lower));
  }

  async #base(
    name: string,
    above: readonly string[],
    wrong: (message: string, hint: string) => GatewayError,
  ): Promise<Laid> {
    if (/^[a-z][a-z0-9+.-]+:/i.test(name))
      throw wrong(
        `"${name}" is not a file.`,
        "A layer is never loaded from a network: write a path.",
      );
    const file = await findLayer(name, dirname(above.at(-1)!), this.#options.files);
    if (file === undefined)
      throw wrong(
        `The layer "${name}" does not exist.`,
        "Write the path of a file, from the folder of this one, or the name of an installed package that has a gateway config.",
      );
    if (above.includes(file))
      throw wrong(`The layer "${name}" extends this file itself.`, "Remove one of the two.");
    this.#count += 1;
    if (this.#count > MAX_LAYERS)
      throw wrong(`The config has more than ${MAX_LAYERS} layers.`, "Join some of them.");
    const shown = join(this.#shown, relative(this.#folder, file));
    this.#options.files.add(file);
    return this.lay(file, await readSource(file, shown, () => readLayer(file)), above);
  }

  /** What a file extends, the strongest first. */
  #sourcesIn(sources: unknown, places: Places): readonly string[] {
    const { value, issues } = expand({ extends: sources }, this.#options.environment);
    if (issues.length > 0) throw invalidConfig(issues.map((issue) => places.place(issue)));
    const found = (value as { extends: unknown }).extends ?? [];
    const names = Array.isArray(found) ? (found as unknown[]) : [found];
    if (names.every((name) => typeof name === "string" && name !== "")) return names as string[];
    const hint = "Write the path of a file, or a list of paths; the first is the strongest.";
    throw invalidConfig([
      places.place({
        path: ["extends"],
        message: "extends must be a path or a list of paths.",
        hint,
      }),
    ]);
  }

  /** Lays what a file says for this environment over the rest of it. */
  #override(whole: Laid): Laid {
    const rest = Object.entries(whole.value as object).filter(([key]) => !isOverride(key));
    const own = { ...whole, value: Object.fromEntries(rest) };
    this.#warnOfNames(whole);
    const name = environmentName(this.#options.environment);
    if (name === undefined) return own;
    const overrides = [memberOf(memberOf(whole, "$env"), name), memberOf(whole, `$${name}`)];
    return [...overrides, own].reduceRight((lower, upper) => {
      if (upper.value === undefined || upper.value === null || isPlainObject(upper.value))
        return layOver(upper, lower);
      const { layer, written } = upper.part;
      const places = new Places(layer?.file ?? "", whole.part);
      const message = `${written.join(".")} must be a map of options.`;
      const hint = "Below it stands what differs in that environment.";
      throw invalidConfig([places.place({ path: written, message, hint })]);
    });
  }

  #warnOfNames(whole: Laid): void {
    const places = new Places(whole.part.layer?.file ?? "", whole.part);
    const env = memberOf(whole, "$env").value;
    const names = [
      ...Object.keys(whole.value as object).filter((key) => isOverride(key) && key !== "$env"),
      ...(isPlainObject(env) ? Object.keys(env).map((name) => `$env.${name}`) : []),
    ];
    for (const key of names) {
      const name = key.replace(/^\$(?:env\.)?/, "");
      const meant = ENVIRONMENTS.includes(name) ? undefined : nearest(name, ENVIRONMENTS);
      if (meant === undefined) continue;
      const path = key.startsWith("$env.") ? ["$env", name] : [key];
      const message = `${key} holds only where NODE_ENV is "${name}".`;
      const hint = `Did you mean "${meant}"?`;
      this.warnings.push(
        placeIssue({ path, at: "key", message, hint }, { places, secrets: new Set() }),
      );
    }
  }
}

function isOverride(key: string): boolean {
  return key.startsWith("$") && key !== "$schema";
}

/** Lays one value over another. What is `null` says nothing: it is a section whose entries are commented out. */
function layOver(upper: Laid, lower: Laid): Laid {
  if (upper.value === undefined || upper.value === null) return lower;
  if (!isPlainObject(upper.value) || !isPlainObject(lower.value)) return upper;
  const keys = new Set([...Object.keys(lower.value), ...Object.keys(upper.value)]);
  const members = [...keys].map(
    (key) => [key, layOver(memberOf(upper, key), memberOf(lower, key))] as const,
  );
  return {
    value: Object.fromEntries(members.map(([key, { value }]) => [key, value])),
    part: { ...upper.part, parts: new Map(members.map(([key, { part }]) => [key, part])) },
  };
}

function memberOf({ value, part }: Laid, key: string): Laid {
  const known = isPlainObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  const { written, layer } = part;
  return {
    value: known,
    part: part.parts.get(key) ?? { written: [...written, key], parts: new Map(), layer },
  };
}

/** The file as a person would name it: relative to where they are, if it is near. */
function shownName(path: string): string {
  const near = relative(process.cwd(), path);
  return near.startsWith("..") || near === "" ? basename(path) : near;
}
