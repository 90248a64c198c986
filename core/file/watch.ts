import { watch as watchFolder, type FSWatcher } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as setTimeoutAsync } from "node:timers/promises";
import { digestsOf, isSame, type Digests } from "./digests.ts";
import type { ConfigWatch, WatchOptions } from "../gateway/check/config-source.ts";
import { setTicker, setTimer } from "../kit/timers.ts";

/** How long a file must stay as it is to be read, in milliseconds. */
const STABLE_MS = 50;

/**
 * Tells when a config, its `.env` or a local plugin changed, by content. Folders are watched instead of files, so that a rename
 * over the file and the symlink swap of a Kubernetes ConfigMap are noticed. One change is told at a time. Never throws.
 */
export class ConfigWatcher implements ConfigWatch {
  readonly #options: WatchOptions;
  readonly #folders = new Map<string, FSWatcher>();
  #seen: Digests = new Map();
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
    this.#polling = setTicker(() => void this.look(), this.#options.poll ?? 5_000);
    this.#polling.unref();
  }

  /** Stops, after a change that is being told. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#settling);
    clearInterval(this.#polling);
    for (const watcher of this.#folders.values()) watcher.close();
    this.#folders.clear();
    await this.#looking;
  }

  /** Looks at the files at once and tells if any changed. Resolves when that is done. */
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
      await this.#options.onChange();
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
  async #isStable(found: Digests): Promise<boolean> {
    await setTimeoutAsync(Math.min(STABLE_MS, this.#options.settle ?? STABLE_MS));
    const stable = isSame(found, await this.#digests());
    this.#again ||= !stable;
    return stable;
  }

  #digests(): Promise<Digests> {
    return digestsOf(this.#options.files());
  }

  /** Watches the folder of every file, and of what it links to. */
  async #follow(): Promise<void> {
    const folders = new Set<string>();
    for (const file of this.#options.files()) {
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
    this.#settling = setTimer(() => void this.look(), this.#options.settle ?? 100);
    this.#settling.unref();
  }
}
