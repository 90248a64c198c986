import type { Json } from "propylon";
import { boundedRecord } from "propylon/kit";
import { ASK_TIMEOUTS, askOnce, type Store } from "propylon/store";
import { z } from "zod";

const TOPIC = "metrics";

const summarySchema = boundedRecord(z.string(), z.unknown(), 10_000);

/** The figures of one replica; without them where it did not answer. */
export interface ReplicaRow {
  readonly replica: string;
  /** Version of Propylon. */
  readonly version: string;
  /** When it began, ISO 8601. */
  readonly since: string;
  readonly metrics: Json | null;
}

/** The figures of all replicas of the store, of this one alone where none is shared. */
export class ReplicaFigures {
  readonly #store: Store;
  readonly #own: () => object;

  /** @param own figures of this gateway */
  constructor(store: Store, own: () => object) {
    this.#store = store;
    this.#own = own;
  }

  /** Tells other replicas of the figures here. @returns ends that */
  async serve(): Promise<() => void> {
    if (!this.#store.shared) return () => {};
    const own = this.#own;
    const end = await this.#store.answer(TOPIC, async function* () {
      yield await Promise.resolve(own());
    });
    return () => void end();
  }

  /** Of every replica, the eldest first. @throws {GatewayError} `unavailable` while the store is away */
  async read(): Promise<readonly ReplicaRow[]> {
    const all = await this.#store.replicas();
    return Promise.all(
      all.map(async ({ id, version, since }) => ({
        replica: id,
        version,
        since: new Date(since).toISOString(),
        metrics: id === this.#store.replica ? { ...this.#own() } : await this.#ask(id),
      })),
    );
  }

  /** One that has just died is listed for a moment, and told by the absence of its figures. */
  #ask(replica: string): Promise<Json | null> {
    const question = { topic: TOPIC, body: {}, schema: summarySchema, timeout: ASK_TIMEOUTS.look };
    return askOnce(this.#store, replica, question).catch(() => null);
  }
}
