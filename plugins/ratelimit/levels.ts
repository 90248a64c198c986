import type { PluginContext } from "propylon";
import { setTimer, within } from "propylon/kit";
import { Buckets } from "propylon/internal";
import { storeKey, type Kv, type Store } from "propylon/store";
import { z } from "zod";
import type { Rate } from "./rate.ts";

/** How often levels are written, in milliseconds. */
const WRITE_MS = 1_000;
/** How long the last write may take when everything ends, in milliseconds. */
const CLOSE_MS = 1_000;
/** Characters of the keys that are written of one rule: a value of the store has its bounds. */
const MAX_KEYS = 500_000;

/** Keys, and when their buckets will be full, in milliseconds since 1970. */
const levelsSchema = z.array(z.tuple([z.string(), z.number()])).max(1_000_000);

/** A rule whose buckets are this gateway's alone. */
type OwnRate = Rate & { readonly buckets: Buckets };

/** Whether the levels of a rule are to be written: those that replicas share are in the store. */
export function hasOwnBuckets(rate: Rate): rate is OwnRate {
  return rate.buckets instanceof Buckets;
}

type RuleLevels = z.output<typeof levelsSchema>;

/** The levels of buckets in a store that outlives the process: read at the start, written now and then, never on the way of a call. */
export class Levels {
  readonly #log: PluginContext["log"];
  readonly #kv: Kv<RuleLevels>;
  #rates: readonly OwnRate[] = [];
  /** How much of each rule's changes is written. */
  readonly #written = new WeakMap<OwnRate, number>();
  #isLoaded = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  constructor(store: Store, log: PluginContext["log"]) {
    this.#log = log;
    this.#kv = store.kv("levels", { schema: levelsSchema });
  }

  /**
   * Writes the levels of these rules from now on, and reads them first when it is the first time.
   *
   * @returns goes back to the previous rules, for a reload that fails
   */
  async follow(rates: readonly OwnRate[]): Promise<() => void> {
    const before = this.#rates;
    if (!this.#isLoaded) await this.#load(rates);
    this.#isLoaded = true;
    this.#rates = rates;
    this.#schedule();
    return () => {
      // At the end there is none to go back to, and the last levels are still to be written.
      if (this.#rates === rates && before.length > 0) this.#rates = before;
    };
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#writing;
    await within(this.#write(), CLOSE_MS);
  }

  /** Full buckets do not stop a start. */
  async #load(rates: readonly OwnRate[]): Promise<void> {
    try {
      for (const rate of rates)
        restore(rate, (await this.#kv.get(storeKey(rate.name)))?.value ?? []);
    } catch (error) {
      this.#log.warn(
        { err: error },
        "the buckets of rate limits are full, since their levels cannot be read",
      );
    }
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimer(() => {
      this.#writing = this.#write().finally(() => {
        this.#timer = undefined;
        this.#writing = undefined;
        this.#schedule();
      });
    }, WRITE_MS).unref();
  }

  /** What cannot be written now is the next time. */
  async #write(): Promise<void> {
    for (const rate of this.#rates) {
      const { changes } = rate.buckets;
      if (changes === (this.#written.get(rate) ?? 0)) continue;
      try {
        await this.#kv.put(storeKey(rate.name), levelsOf(rate));
        this.#written.set(rate, changes);
      } catch {
        return;
      }
    }
  }
}

/** The emptiest first, should there be too many. */
function levelsOf({ buckets }: OwnRate): RuleLevels {
  const now = performance.now();
  const clock = Date.now() - now;
  const all = [...buckets.levels(now)].toSorted(([, a], [, b]) => b - a);
  let characters = 0;
  const kept = all.filter(([key]) => (characters += key.length) <= MAX_KEYS);
  return kept.map(([key, fullAt]) => [key, Math.ceil(fullAt + clock)]);
}

function restore({ buckets }: OwnRate, levels: RuleLevels): void {
  const now = performance.now();
  const clock = Date.now() - now;
  for (const [key, fullAt] of levels) buckets.restore(key, fullAt - clock, now);
}
