import { watch as watchFolder, type FSWatcher } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { setTimeout as setTimeoutAsync } from "node:timers/promises";
import { GatewayError, toGatewayError } from "../errors.ts";
import type { LoadedConfig } from "./load.ts";
import { loadConfig } from "./load.ts";

/** How long a file must stay as it is to be read, in milliseconds. */
const STABLE_MS = 50;

/** What a {@link ConfigWatcher} watches and whom it tells. */
export interface WatchOptions {
  /** The config file. */
  readonly file: string;
  /** How to load it; default: {@link loadConfig} with nothing else said. */
  load?(): Promise<LoadedConfig>;
  /** Files beside the config that matter too, e.g. those of local plugins; asked again before every look. */
  extraFiles?(): readonly string[];
  /** Receives each config that loads; a rejection counts as a failed reload. */
  onConfig(loaded: LoadedConfig): void | Promise<void>;
  /** Receives what kept a change from being used: a `reload_failed` error with place and hint. */
  onFailure(error: GatewayError): void;
  /** Quiet time after a change before it is looked at, in milliseconds. Default 100. */
  readonly settle?: number;
  /** How often to look without being told, in milliseconds: network file systems and bind mounts tell nothing. Default 5000. */
  readonly poll?: number;
}

/**
 * Tells when a config, its `.env` or a local plugin changed, by content. Folders are watched instead of files, so that a rename
 * over the file and the symlink swap of a Kubernetes ConfigMap are noticed. A config that is wrong, empty or gone is reported
 * and changes nothing (M014); the next good one is used. One reload runs at a time (M015). Never throws.
 */
export class ConfigWatcher {
  readonly #options: WatchOptions;
  readonly #folders = new Map<string, FSWatcher>();
  #seen: ReadonlyMap<string, string> = new Map();
  #settling: NodeJS.Timeout | undefined;
  #polling: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #again = false;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Starts; what the files hold now counts as known. */
  async start(): Promise<void> {
    this.#seen = await this.#digests();
    await this.#follow();
    this.#polling = setInterval(() => void this.look(), this.#options.poll ?? 5_000);
    this.#polling.unref();
  }

  /** Stops, after a reload in progress. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#settling);
    clearInterval(this.#polling);
    for (const watcher of this.#folders.values()) watcher.close();
    this.#folders.clear();
    await this.#looking;
  }

  /** Looks at the files at once and reloads if any changed. Resolves when that is done. */
  look(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#again = true;
    this.#looking ??= this.#lookUntilQuiet().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #lookUntilQuiet(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      const found = await this.#digests();
      if (isSame(found, this.#seen)) continue;
      if (!(await this.#isStable(found))) continue;
      await this.#reload();
      // A reload may bring other plugin files: what they hold now is what it used. The known ones are compared with what
      // they held before it, so that a change during the reload is not missed.
      this.#seen = new Map(
        [...(await this.#digests())].map(([file, now]) => [file, found.get(file) ?? now]),
      );
      await this.#follow();
      this.#soon();
    }
  }

  /** Many editors empty a file before they write it: what is still changing is looked at again, not reported as empty. */
  async #isStable(found: ReadonlyMap<string, string>): Promise<boolean> {
    await setTimeoutAsync(Math.min(STABLE_MS, this.#options.settle ?? STABLE_MS));
    const stable = isSame(found, await this.#digests());
    this.#again ||= !stable;
    return stable;
  }

  #load(): Promise<LoadedConfig> {
    return this.#options.load ? this.#options.load() : loadConfig(this.#options.file);
  }

  async #reload(): Promise<void> {
    try {
      await this.#options.onConfig(await this.#load());
    } catch (thrown) {
      this.#tell(reloadFailed(toGatewayError(thrown)));
    }
  }

  #tell(error: GatewayError): void {
    try {
      this.#options.onFailure(error);
    } catch {
      // A listener that fails must not end the watch.
    }
  }

  async #digests(): Promise<Map<string, string>> {
    const { file } = this.#options;
    const files = [file, join(dirname(file), ".env"), ...this.#extraFiles()];
    return new Map(
      await Promise.all(files.map(async (path) => [path, await digest(path)] as const)),
    );
  }

  #extraFiles(): readonly string[] {
    return this.#options.extraFiles?.() ?? [];
  }

  /** Watches the folder of every file, and of what it links to. */
  async #follow(): Promise<void> {
    const files = [this.#options.file, ...this.#extraFiles()];
    const folders = new Set<string>();
    for (const file of files) {
      folders.add(dirname(file));
      folders.add(dirname(await realpath(file).catch(() => file)));
    }
    if (this.#closed) return;
    for (const [folder, watcher] of this.#folders) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#folders.delete(folder);
    }
    for (const folder of folders) this.#watch(folder);
  }

  #watch(folder: string): void {
    if (this.#folders.has(folder)) return;
    try {
      const watcher = watchFolder(folder, { persistent: false }, () => this.#soon());
      // A folder that is deleted, or no inotify watches left: polling goes on.
      watcher.on("error", () => {
        watcher.close();
        this.#folders.delete(folder);
      });
      this.#folders.set(folder, watcher);
    } catch {
      // The same: polling goes on.
    }
  }

  #soon(): void {
    clearTimeout(this.#settling);
    if (this.#closed) return;
    this.#settling = setTimeout(() => void this.look(), this.#options.settle ?? 100);
    this.#settling.unref();
  }
}

async function digest(file: string): Promise<string> {
  const content = await readFile(file).catch(() => undefined);
  return content === undefined ? "gone" : createHash("sha256").update(content).digest("hex");
}

function isSame(left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>): boolean {
  return (
    left.size === right.size && [...left].every(([file, content]) => right.get(file) === content)
  );
}

/** The error of a reload that did not happen, with the place and next step of its cause. */
export function reloadFailed(cause: GatewayError): GatewayError {
  if (cause.code === "reload_failed") return cause;
  const message =
    cause.code === "no_config"
      ? `${basename(cause.place?.file ?? "The config")} is gone.`
      : cause.message;
  return new GatewayError(
    "reload_failed",
    `The change was not applied, the running config stays: ${message}`,
    {
      cause,
      ...(cause.hint !== undefined && { hint: cause.hint }),
      ...(cause.place !== undefined && { place: cause.place }),
      ...(cause.data !== undefined && { data: cause.data }),
    },
  );
}
