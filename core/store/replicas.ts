import { setTicker } from "../kit/timers.ts";
import { VERSION } from "../kit/version.ts";
import type { StoreConnection } from "./connection.ts";
import { StoreKv } from "./kv.ts";
import type { Replica } from "./store.ts";

/** How long a replica that shows no life is still listed, in milliseconds. */
const TTL_MS = 6_000;
/** How often it shows life, in milliseconds. */
const SHOW_MS = TTL_MS / 3;

/** The replicas of a store: each shows life by writing its entry again. */
export class Replicas {
  readonly #connection: StoreConnection;
  readonly #kv: StoreKv<Replica>;
  readonly #own: Replica;
  #timer: NodeJS.Timeout | undefined;
  #rev = 0;
  /** Who wants to hear that a replica is gone, by its id. */
  readonly #waiting = new Map<string, Set<() => void>>();
  /** Until when one that was there need not be read again: what changes in its entry is told. */
  readonly #there = new Map<string, number>();
  #watching: "no" | "soon" | "yes" = "no";

  constructor(connection: StoreConnection) {
    this.#connection = connection;
    this.#kv = new StoreKv(connection, "core/replicas", { ttl: TTL_MS }, () => {});
    this.#own = { id: connection.replica, version: VERSION, since: Date.now() };
  }

  async join(): Promise<void> {
    await this.#show();
    this.#timer = setTicker(() => void this.#show().catch(() => {}), SHOW_MS).unref();
  }

  async list(): Promise<readonly Replica[]> {
    const all: Replica[] = [];
    for await (const { value } of this.#kv.list()) all.push(value);
    return all.toSorted((left, right) => left.since - right.since || (left.id < right.id ? -1 : 1));
  }

  /**
   * Tells once that a replica is gone: it left, was {@link remove}d, or has shown no life. Nothing is told while this gateway is not
   * one of them itself, or the store is away.
   *
   * @returns ends the wait
   */
  whenGone(id: string, listener: () => void): () => void {
    if (!this.#timer) return () => {};
    const listeners = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, listeners.add(listener));
    this.#watch();
    if (performance.now() > (this.#there.get(id) ?? 0)) void this.#look(id);
    return () => {
      if (listeners.delete(listener) && listeners.size === 0 && this.#waiting.get(id) === listeners)
        this.#waiting.delete(id);
    };
  }

  /** Takes one off that is known to have died. */
  async remove(id: string): Promise<void> {
    await this.#kv.delete(id).catch(() => {});
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer);
    // A store that is away is not waited for once more: the entry ends on its own.
    if (this.#connection.awayFor === 0) await this.remove(this.#own.id);
  }

  #watch(): void {
    if (this.#watching !== "no") return;
    this.#watching = "soon";
    const watching = this.#kv.watchKeys((key) => this.#note(key));
    watching.then(
      () => (this.#watching = "yes"),
      () => {},
    );
  }

  #note(key: string | undefined): void {
    if (key === undefined) this.#there.clear();
    else this.#there.delete(key);
    const ids = key === undefined ? [...this.#waiting.keys()] : [key];
    for (const id of ids) if (this.#waiting.has(id)) void this.#look(id);
  }

  async #look(id: string): Promise<void> {
    // Before it is read: a change that is told meanwhile has it read again.
    if (this.#watching === "yes") this.#there.set(id, performance.now() + SHOW_MS);
    const entry = await this.#kv.get(id).catch(() => null);
    if (!entry) this.#there.delete(id);
    if (entry !== undefined) return;
    const listeners = this.#waiting.get(id) ?? [];
    this.#waiting.delete(id);
    for (const listener of listeners) listener();
  }

  /** One that is paused for long finds its entry gone. */
  async #show(): Promise<void> {
    const { id } = this.#own;
    const rev = await this.#kv.update(id, this.#own, this.#rev);
    this.#rev = rev ?? (await this.#kv.put(id, this.#own));
  }
}
