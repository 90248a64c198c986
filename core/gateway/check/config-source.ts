import type { Config } from "../../config/config.ts";
import type { ConfigDraft, ConfigEdit } from "../../config/edit.ts";
import type { CheckedConfig } from "./check.ts";
import type { PluginResolver } from "./plugin-module.ts";

/** How to watch; everything has a default. */
export interface WatchTimes {
  /** Quiet time after a change before it is looked at, in milliseconds. Default 100. */
  readonly settle?: number;
  /** How often to look without being told, in milliseconds: network file systems and bind mounts tell nothing. Default 5000. */
  readonly poll?: number;
}

/** What is watched, and who is told of a change. */
export interface WatchOptions extends WatchTimes {
  /** The files that matter, as absolute paths; asked again before every look. */
  files(): readonly string[];
  /** Hears of each change; must not reject. */
  onChange(): Promise<void>;
}

/** A watch that has begun. */
export interface ConfigWatch {
  /** Looks at the files at once and tells if any changed. Resolves when that is done. */
  look(): Promise<void>;
  /** Stops, after a change that is being told. */
  close(): Promise<void>;
}

/** What a gateway reads its config from again and again, and writes it back to: a file with its plugins. */
export interface ConfigSource {
  /** Finds its plugins. */
  readonly plugins: PluginResolver;
  /** Absolute path. */
  readonly path: string;
  /** Folder of the file; what relative paths in the config start from. */
  readonly cwd: string;
  /** All files that a load depends on. */
  readonly files: readonly string[];
  /** Values of the config that came from the environment, to be masked wherever it is shown. */
  readonly secrets: ReadonlySet<string>;
  /** SHA-256 of the text in force, hex; empty before the first. */
  readonly version: string;
  /** Keys of plugins whose package was installed again since they were imported. */
  readonly replaced: readonly string[];
  /**
   * Reads the config and its plugins and checks them.
   *
   * @throws {GatewayError} `invalid` with every problem and its place; `no_config`, `io_error`
   */
  load(): Promise<CheckedConfig>;
  /**
   * Like {@link load}, but the files do not count as read: a change of theirs is still one.
   *
   * @param text what to check in place of the content of the file
   */
  check(text?: string): Promise<CheckedConfig>;
  /** Whether any file holds something else than when it was last read. */
  isChanged(): Promise<boolean>;
  /** Works out an edit of the config in force; nothing is written yet. */
  draft(edits: readonly ConfigEdit[]): Promise<ConfigDraft>;
  /** Says that a config is in force from now on; one that was not loaded from here changes nothing. */
  adopt(config: Config): void;
  /** Tells of changes by content from now on. */
  watch(options: WatchOptions): Promise<ConfigWatch>;
}
