import type { Logger } from "pino";
import type { GatewayHooks } from "../plugin/hooks.ts";

/** A listener of one hook, with the name that stands in the log when it throws. */
export interface HookListener<K extends keyof GatewayHooks = keyof GatewayHooks> {
  readonly owner: string;
  readonly hook: K;
  readonly listener: GatewayHooks[K];
}

/** Whether the line that is being written says that a listener of lines failed: told to one, the log would feed itself. */
let isReporting = false;

/**
 * Calls hook listeners: synchronously, in order, every one. Hooks observe, so a listener that throws or rejects is logged
 * and changes nothing.
 */
export class HookEmitter {
  readonly #log: Logger;
  readonly #own = new Set<HookListener>();
  #ofPlugins: ReadonlyMap<keyof GatewayHooks, readonly HookListener[]> = new Map();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Replaces the listeners of all plugins by those of the new generation. */
  swap(listeners: readonly HookListener[]): void {
    const names = new Set(listeners.map(({ hook }) => hook));
    this.#ofPlugins = new Map(
      [...names].map((name) => [name, listeners.filter(({ hook }) => hook === name)]),
    );
  }

  /** Adds a listener that no reload removes; the return value does. */
  add(entry: HookListener): () => void {
    this.#own.add(entry);
    return () => void this.#own.delete(entry);
  }

  /** Whether anyone listens, for what costs something to tell. */
  hears(hook: keyof GatewayHooks): boolean {
    if (isReporting && hook === "log:line") return false;
    if (this.#ofPlugins.has(hook)) return true;
    for (const entry of this.#own) if (entry.hook === hook) return true;
    return false;
  }

  /** Notifies everyone who listens. */
  emit<K extends keyof GatewayHooks>(hook: K, ...args: Parameters<GatewayHooks[K]>): void {
    for (const entry of this.#ofPlugins.get(hook) ?? []) this.#notify(entry, args);
    for (const entry of this.#own) if (entry.hook === hook) this.#notify(entry, args);
  }

  #notify({ owner, hook, listener }: HookListener, args: readonly unknown[]): void {
    const report = (error: unknown): void => this.#report(error, owner, hook);
    try {
      const result = (listener as (...args: readonly unknown[]) => unknown)(...args);
      if (result instanceof Promise) result.catch(report);
    } catch (error) {
      report(error);
    }
  }

  #report(err: unknown, plugin: string, hook: keyof GatewayHooks): void {
    isReporting = hook === "log:line";
    try {
      this.#log.error({ err, plugin, hook }, "a hook listener failed");
    } finally {
      isReporting = false;
    }
  }
}
