import { setImmediate } from "node:timers/promises";
import { Recent } from "propylon/kit";
import type { Log, Store } from "propylon/store";
import { z } from "zod";
import { idOf } from "./entry.ts";
import { Ring, type RingLimits } from "./ring.ts";

/** Records that are read at once. */
const BATCH = 500;
/** Ids by which a record is known that was written twice: the answer to the first time did not come. */
const MAX_SEEN = 2_000;

/** The calls of all replicas of a store, in the order of its log: read when somebody looks, and only what came since. */
export class SharedCalls {
  readonly ring: Ring;
  readonly #seen = new Recent<true>(MAX_SEEN);
  readonly #marks: ReturnType<typeof marksOf>;
  #last = 0;
  #mark: string | undefined;
  #reading: Promise<void> | undefined;

  constructor(store: Store, limits: RingLimits) {
    this.ring = new Ring(limits);
    this.#marks = marksOf(store);
  }

  /**
   * Reads what was written since the last time. Those who come while it is read share that, and then look once more.
   *
   * @param forgotten hears that another replica forgot everything
   * @throws {GatewayError} `unavailable`
   */
  async catchUp(log: Log<string>, limits: RingLimits, forgotten: () => void): Promise<void> {
    await this.#reading?.catch(() => {});
    this.ring.limits = limits;
    this.#reading ??= this.#read(log, forgotten).finally(() => (this.#reading = undefined));
    await this.#reading;
  }

  /** Everything was forgotten, which the other replicas see by the mark. @throws {GatewayError} `unavailable` */
  async forget(mark: string): Promise<number> {
    await this.#marks.put("calls", mark);
    this.#mark = mark;
    return this.ring.clear();
  }

  async #read(log: Log<string>, forgotten: () => void): Promise<void> {
    const mark = (await this.#marks.get("calls"))?.value ?? "";
    if (this.#mark !== undefined && this.#mark !== mark) {
      this.ring.clear();
      forgotten();
    }
    this.#mark = mark;
    for (;;) {
      const entries = await log.read({ after: this.#last, limit: BATCH });
      for (const { value } of entries) this.#add(value);
      if (entries.length === 0) return;
      this.#last = entries.at(-1)!.seq;
      // Calls come first.
      await setImmediate();
    }
  }

  #add(record: string): void {
    const id = idOf(record);
    if (id === undefined || this.#seen.get(id)) return;
    this.ring.push(record);
    this.#seen.set(id, true);
  }
}

/** When everything was forgotten last: a replica with another mark has calls that must not be seen any more. */
function marksOf(store: Store) {
  return store.kv<string>("forgotten", { schema: z.string().max(100) });
}
