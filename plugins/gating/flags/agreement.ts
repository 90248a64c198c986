import { FIRST_PROBLEM } from "propylon/kit";
import { ASK_TIMEOUTS, askOnce, type Store } from "propylon/store";
import { z } from "zod";

/** After so long a replica is asked again, in milliseconds: a question is lost where a connection breaks. */
const AGAIN_MS = 250;
const TOPIC = "flags";
/** Flags of one question. */
const MAX_FLAGS = 1_000;

const questionSchema = z.array(z.tuple([z.string(), z.number()])).max(MAX_FLAGS);
const answerSchema = z.boolean();

/** Keys of flags, and the revision of each that is to be in force. */
export type Written = readonly (readonly [key: string, rev: number])[];

/** That what one replica of a store switched is in force at the others: a client that was told so may rely on it anywhere. */
export class Agreement {
  readonly #store: Store;
  readonly #revOf: (key: string) => number;
  /** Questions of others that wait for news. */
  readonly #waiting = new Set<() => void>();

  /** @param revOf which revision of a flag is in force here; 0: none */
  constructor(store: Store, revOf: (key: string) => number) {
    this.#store = store;
    this.#revOf = revOf;
  }

  /** Answers the others. @returns ends that */
  serve(): Promise<() => void | Promise<void>> {
    const whenHeard = (written: Written, signal: AbortSignal): Promise<void> =>
      this.#whenHeard(written, signal);
    return this.#store.answer(TOPIC, async function* (body, signal) {
      await whenHeard(questionSchema.parse(body, FIRST_PROBLEM), signal);
      yield true;
    });
  }

  /** Something came into force here. */
  heard(): void {
    for (const look of this.#waiting) look();
  }

  /** Resolves once it is in force at all replicas that live. Never rejects: it is written, and counts everywhere in any case. */
  async reach(written: Written): Promise<void> {
    try {
      const others = await this.#store.others();
      await Promise.all([...others].map((id) => this.#ask(id, written)));
    } catch {
      // The store is away: nobody can be asked.
    }
  }

  async #ask(replica: string, written: Written): Promise<void> {
    for (let from = 0; from < written.length; from += MAX_FLAGS) {
      const body = written.slice(from, from + MAX_FLAGS);
      await this.#askAgain(replica, {
        topic: TOPIC,
        body,
        schema: answerSchema,
        timeout: AGAIN_MS,
      });
    }
  }

  async #askAgain(replica: string, question: Parameters<typeof askOnce>[2]): Promise<void> {
    const end = performance.now() + ASK_TIMEOUTS.agree;
    while (performance.now() < end) {
      const begun = performance.now();
      try {
        await askOnce(this.#store, replica, question);
        return;
      } catch {
        // One that is gone, or without this plugin, says so at once, and hears of it as it always did.
        if (performance.now() - begun < AGAIN_MS / 2) return;
      }
    }
  }

  #whenHeard(written: Written, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#waiting.delete(look);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const look = (): void => {
        if (written.every(([key, rev]) => this.#revOf(key) >= rev)) end();
      };
      this.#waiting.add(look);
      signal.addEventListener("abort", end, { once: true });
      look();
    });
  }
}
