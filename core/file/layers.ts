import { readFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { readCode } from "../config/code.ts";
import { type ConfigText, placeIssue, Places, type Part } from "../config/config.ts";
import { isText } from "./file-names.ts";
import { invalidConfig, type ConfigIssue, type PathIssue } from "../config/issue.ts";
import { isPlainObject } from "../kit/json.ts";
import { maskUrls } from "../kit/secret-text.ts";
import { expand, type Environment } from "../config/variables.ts";
import type { GatewayError } from "../kit/errors.ts";
import { nearest } from "../kit/spelling.ts";
import { complete, layConfig, memberOf, type Laid } from "./laid.ts";
import { findLayer, readLayer, readSource } from "./layer-file.ts";

/** Files that one config may consist of. */
const MAX_LAYERS = 32;

/** Environments that most programs know; a name close to one of them is a mistake. */
const ENVIRONMENTS = ["production", "development", "staging", "test"];

/** How the files of a config are read. */
export interface LayerOptions {
  readonly environment: Environment;
  /** The environment whose overrides count, as {@link environmentName} says. */
  readonly name: string | undefined;
  /** In place of the content of the first file. */
  readonly text?: string | undefined;
  /** Gets every file that was looked for, also where reading fails. */
  readonly files?: Set<string> | undefined;
}

/** A config with the layers that it extends. */
export interface LayeredText {
  readonly value: unknown;
  readonly places: Places;
  /** SHA-256 of the first file, hex. */
  readonly version: string;
  /** Content of the first file; absent for code. */
  readonly text: string | undefined;
  /** The files below the first one, absolute. */
  readonly layers: readonly string[];
  /** Environments that its files have overrides for. */
  readonly environments: readonly string[];
  /** Values of variables in the names of layers. */
  readonly secrets: ReadonlySet<string>;
  readonly warnings: readonly ConfigIssue[];
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
  options.files?.add(file);
  const source = await readSource(file, shown, read);
  const layers = new Layers(file, shown, options);
  const { value, part } = await layers.lay(file, source, []);
  const { version, text } = source;
  const { files, environments, secrets, warnings } = layers;
  return {
    value,
    places: new Places(shown, part),
    version,
    text,
    layers: files,
    environments: [...environments],
    secrets,
    warnings,
  };
}

/** A layer that a file names. */
interface NamedLayer {
  /** With its variables filled in. */
  readonly name: string;
  /** Makes the problem of it, at its line. */
  readonly wrong: (message: string, hint: string) => GatewayError;
  /** As it is written, fit for a message. */
  readonly shown: string;
}

/** The files below the first one. */
class Layers {
  readonly warnings: ConfigIssue[] = [];
  readonly files: string[] = [];
  readonly secrets = new Set<string>();
  readonly environments = new Set<string>();
  readonly #folder: string;
  readonly #shown: string;
  readonly #options: LayerOptions;

  constructor(file: string, shown: string, options: LayerOptions) {
    this.#folder = dirname(file);
    this.#shown = dirname(shown);
    this.#options = options;
  }

  /** @param above files that extend this one, the first one first */
  async lay(file: string, source: ConfigText, above: readonly string[]): Promise<Laid> {
    const whole = complete({ value: source.value, part: source.places.root });
    const own = this.#override(whole);
    const places = new Places(source.places.file, own.part);
    const { extends: named, ...value } = own.value as Record<string, unknown>;
    const bases: Laid[] = [];
    for (const layer of this.#named(named, places))
      bases.push(await this.#base(layer, [...above, file]));
    return [{ ...own, value }, ...bases].reduceRight((lower, upper) => layConfig(upper, lower));
  }

  async #base({ name, shown, wrong }: NamedLayer, above: readonly string[]): Promise<Laid> {
    if (/^[a-z][a-z0-9+.-]+:/i.test(name))
      throw wrong(
        `"${shown}" is not a file.`,
        "A layer is never loaded from a network: write a path.",
      );
    const file = await findLayer(name, dirname(above.at(-1)!), this.#options.files);
    if (file === undefined)
      throw wrong(
        `The layer "${shown}" does not exist.`,
        "Write the path of a file, from the folder of this one, or the name of an installed package that has a gateway config.",
      );
    if (above.includes(file))
      throw wrong(`The layer "${shown}" extends this file itself.`, "Remove one of the two.");
    this.files.push(file);
    if (this.files.length >= MAX_LAYERS)
      throw wrong(`The config has more than ${MAX_LAYERS} layers.`, "Join some of them.");
    const place = join(this.#shown, relative(this.#folder, file));
    const source = await readSource(file, place, () => readLayer(file)).catch(
      (error: GatewayError) => {
        throw error.code === "invalid"
          ? error
          : wrong(error.message, error.hint ?? "Check the path.");
      },
    );
    return this.lay(file, source, above);
  }

  /** What a file extends, the strongest first. */
  #named(written: unknown, places: Places): readonly NamedLayer[] {
    const { value, issues, secrets } = expand({ extends: written }, this.#options.environment);
    for (const secret of secrets) this.secrets.add(secret);
    const issueOf = (issue: PathIssue): ConfigIssue => placeIssue(issue, { places, secrets });
    if (issues.length > 0) throw invalidConfig(issues.map(issueOf));
    const isList = Array.isArray(written);
    const [raw, names] = [written, (value as { extends: unknown }).extends].map((each) =>
      isList ? (each as unknown[]) : each == null ? [] : [each],
    ) as [unknown[], unknown[]];
    if (!names.every((name) => typeof name === "string" && name !== "")) {
      const message = "extends must be a path or a list of paths.";
      const hint = "Write the path of a file, or a list of paths; the first is the strongest.";
      throw invalidConfig([issueOf({ path: ["extends"], message, hint })]);
    }
    return (names as string[]).map((name, index) => ({
      name,
      shown: maskUrls(String(raw[index])),
      wrong: (message, hint) =>
        invalidConfig([
          issueOf({ path: isList ? ["extends", index] : ["extends"], message, hint }),
        ]),
    }));
  }

  /** Lays what a file says for this environment over the rest of it. */
  #override(whole: Laid): Laid {
    const rest = Object.entries(whole.value as object).filter(([key]) => !isOverride(key));
    const own = { ...whole, value: Object.fromEntries(rest) };
    this.#noteEnvironments(whole);
    const all = memberOf(whole, "$env");
    const { name } = this.#options;
    const overrides = name === undefined ? [] : [memberOf(all, name), memberOf(whole, `$${name}`)];
    for (const { value, part } of [all, ...overrides])
      if (value !== undefined && value !== null && !isPlainObject(value)) throw noMap(whole, part);
    return [...overrides, own].reduceRight((lower, upper) => layConfig(upper, lower));
  }

  /** Notes the environments that a file names; a name close to one that most programs know is a mistake. */
  #noteEnvironments(whole: Laid): void {
    const places = new Places(whole.part.layer?.file ?? "", whole.part);
    const env = memberOf(whole, "$env").value;
    const names = [
      ...Object.keys(whole.value as object).filter((key) => isOverride(key) && key !== "$env"),
      ...(isPlainObject(env) ? Object.keys(env).map((name) => `$env.${name}`) : []),
    ];
    for (const key of names) {
      const name = key.replace(/^\$(?:env\.)?/, "");
      this.environments.add(name);
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

function noMap({ part: root }: Laid, { written }: Part): GatewayError {
  const places = new Places(root.layer?.file ?? "", root);
  const message = `${written.join(".")} must be a map of options.`;
  const hint = "Below it stands what differs in that environment.";
  return invalidConfig([places.place({ path: written, message, hint })]);
}

/** Whether a top-level key holds what differs in an environment. */
export function isOverride(key: string): boolean {
  return key.startsWith("$") && key !== "$schema";
}

/** The file as a person would name it: relative to where they are, if it is near. */
function shownName(path: string): string {
  const near = relative(process.cwd(), path);
  return near.startsWith("..") || near === "" ? basename(path) : near;
}
