import { dirname, resolve } from "node:path";
import { check, type CheckedConfig } from "../gateway/check/check.ts";
import type { Config } from "../config/config.ts";
import { type Digests, digestsOf, isSame } from "./digests.ts";
import { draftEdits } from "./draft.ts";
import { loadConfig, readMerged, type LoadedConfig, type LoadOptions } from "./load.ts";
import type { ConfigSource, WatchOptions } from "../gateway/check/config-source.ts";
import { ConfigWatcher } from "./watch.ts";
import { type PluginResolver } from "../gateway/check/plugin-module.ts";
import { findAtHand, type GatewayOptions } from "../gateway/gateway-options.ts";
import { PluginSource } from "../gateway/check/resolve.ts";
import { environmentFiles } from "../config/variables.ts";
import type { ConfigDraft, ConfigEdit } from "../config/edit.ts";

/** How to read a {@link ConfigFile}; everything has a default. */
export interface ConfigFileOptions
  extends Omit<LoadOptions, "text" | "resolver">, Pick<GatewayOptions, "plugins"> {}

/** A config that was read from a file, checked with its plugins. */
export interface LoadedFile extends LoadedConfig, CheckedConfig {
  readonly config: Config;
}

/** A config file with its plugins, as a gateway reads it again and again, and writes it back. */
export class ConfigFile implements ConfigSource {
  /** Absolute path. */
  readonly path: string;
  /** Finds plugins at hand before files and packages. */
  readonly plugins: PluginResolver;
  readonly #options: ConfigFileOptions;
  readonly #source: PluginSource;
  /** What the files held when they were last read. */
  #seen: Digests = new Map();
  /** Files that were looked for when it was last read, also where that failed. */
  #layers: ReadonlySet<string> = new Set();
  #latest: LoadedFile | undefined;
  #inForce: LoadedFile | undefined;

  constructor(path: string, options: ConfigFileOptions = {}) {
    this.path = resolve(path);
    this.#options = options;
    this.#source = new PluginSource(this.cwd);
    this.plugins = findAtHand(options.plugins, this.#source);
  }

  /** Folder of the file; what relative paths in the config start from. */
  get cwd(): string {
    return dirname(this.path);
  }

  /** All files that a load depends on: the config, its layers, its variables, local plugins with what they import. */
  get files(): readonly string[] {
    const real = this.#options.environment ?? process.env;
    const variables = environmentFiles(this.cwd, real);
    return [...new Set([this.path, ...this.#layers, ...variables, ...this.#source.files])];
  }

  /** Values of the config that came from the environment, to be masked wherever it is shown. */
  get secrets(): ReadonlySet<string> {
    const known = [this.#inForce, this.#latest].flatMap((file) => [
      ...(file?.config.secrets ?? []),
    ]);
    return new Set(known);
  }

  /** SHA-256 of the text in force, hex; empty before the first. */
  get version(): string {
    return this.#inForce?.version ?? "";
  }

  /** Keys of plugins whose package was installed again; see {@link PluginSource.replaced}. */
  get replaced(): readonly string[] {
    return this.#source.replaced;
  }

  /**
   * Reads the config and its plugins and checks them.
   *
   * @throws {GatewayError} as {@link loadConfig}; `invalid` with the problems of the plugins and their options
   */
  async load(): Promise<LoadedFile> {
    const before = await digestsOf(this.files);
    try {
      return await this.check();
    } finally {
      await this.#note(before);
    }
  }

  /**
   * Like {@link load}, but the files do not count as read: a change of theirs is still one.
   *
   * @param text what to check in place of the content of the file
   * @throws {GatewayError} as {@link load}
   */
  async check(text?: string): Promise<LoadedFile> {
    const { environment, adjust } = this.#options;
    const files = new Set<string>();
    const loaded = await loadConfig(this.path, {
      resolver: this.plugins,
      files,
      ...(environment && { environment }),
      ...(adjust && { adjust }),
      ...(text !== undefined && { text }),
    }).finally(() => {
      // A draft may have other layers; it is not read again.
      if (text === undefined) this.#layers = files;
    });
    const checked = await check(loaded.config, this.plugins);
    this.#latest = { ...loaded, ...checked };
    return this.#latest;
  }

  /** Whether any file holds something else than when it was last read. */
  async isChanged(): Promise<boolean> {
    return !isSame(this.#seen, await digestsOf(this.files));
  }

  /**
   * Works out an edit of the config in force; nothing is written yet.
   *
   * @throws {GatewayError} as {@link draftConfig}; `exists` too when the file is not the one in force
   */
  async draft(edits: readonly ConfigEdit[]): Promise<ConfigDraft> {
    const { environment } = this.#options;
    const draft = await draftEdits(this.path, edits, this.#inForce?.version, (how) =>
      readMerged(this.path, { ...how, ...(environment && { environment }) }),
    );
    const write = async (): Promise<void> => {
      await draft.write();
      await this.#note(new Map([...this.#seen, [this.path, draft.version]]));
    };
    return { ...draft, write };
  }

  /** Says that a config is in force from now on; one that was not loaded from this file changes nothing. */
  adopt(config: Config): void {
    if (this.#latest?.config === config) this.#inForce = this.#latest;
  }

  /** Tells of changes by content from now on. */
  async watch(options: WatchOptions): Promise<ConfigWatcher> {
    const watcher = new ConfigWatcher(options);
    await watcher.start();
    return watcher;
  }

  /** A load may bring other plugin files: what those hold now is what it used. */
  async #note(before: Digests): Promise<void> {
    const now = await digestsOf(this.files);
    this.#seen = new Map([...now].map(([file, held]) => [file, before.get(file) ?? held]));
  }
}
