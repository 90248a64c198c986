/** One kept value with what to do when it is dropped. */
interface Kept {
  readonly value: unknown;
  readonly dispose: (() => void | Promise<void>) | undefined;
}

/** Values that outlive the scopes of a plugin: made once by `gateway.keep`, dropped when the plugin leaves the config. */
export class KeptValues {
  readonly #plugins = new Map<string, Map<string, Kept>>();

  /** The value kept for a plugin under a name, made now if there is none. */
  keep<T>(
    plugin: string,
    name: string,
    create: () => T,
    dispose?: (value: T) => void | Promise<void>,
  ): T {
    const values = this.#plugins.get(plugin) ?? new Map<string, Kept>();
    this.#plugins.set(plugin, values);
    const kept = values.get(name);
    if (kept) return kept.value as T;
    const value = create();
    values.set(name, { value, dispose: dispose && (() => dispose(value)) });
    return value;
  }

  /** Names of the plugins that keep something. */
  get plugins(): readonly string[] {
    return [...this.#plugins.keys()];
  }

  /** What is kept now, to return to with {@link restore}. */
  snapshot(): ReadonlyMap<string, ReadonlySet<string>> {
    return new Map([...this.#plugins].map(([plugin, values]) => [plugin, new Set(values.keys())]));
  }

  /** Drops what was made since the snapshot, as a failed reload must; the errors are returned. */
  restore(snapshot: ReadonlyMap<string, ReadonlySet<string>>): Promise<unknown[]> {
    const dropped = new Unwinding();
    for (const plugin of this.plugins)
      this.#take(plugin, dropped, (name) => snapshot.get(plugin)?.has(name) !== true);
    return dropped.run();
  }

  /** Forgets everything that plugins keep, at once; running the result disposes it. */
  take(plugins: readonly string[]): Unwinding {
    const dropped = new Unwinding();
    for (const plugin of plugins) this.#take(plugin, dropped, () => true);
    return dropped;
  }

  #take(plugin: string, dropped: Unwinding, wanted: (name: string) => boolean): void {
    const values = this.#plugins.get(plugin);
    if (!values) return;
    for (const [name, { dispose }] of values) {
      if (!wanted(name)) continue;
      values.delete(name);
      if (dispose) dropped.add(dispose);
    }
    if (values.size === 0) this.#plugins.delete(plugin);
  }
}

/** What a half-done change has to undo, last done first. */
export class Unwinding {
  readonly #undos: (() => unknown)[] = [];

  /** Remembers how to undo a step that was just done. */
  add(undo: () => unknown): void {
    this.#undos.push(undo);
  }

  /** Undoes everything, every step even when another throws; the errors are returned. */
  async run(): Promise<unknown[]> {
    const errors: unknown[] = [];
    for (const undo of this.#undos.splice(0).toReversed()) {
      try {
        const reported = await undo();
        if (Array.isArray(reported)) errors.push(...(reported as unknown[]));
      } catch (error) {
        errors.push(error);
      }
    }
    return errors;
  }
}
