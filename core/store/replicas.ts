import { setTicker } from "../timers.ts";
import { VERSION } from "../version.ts";
import type { StoreConnection } from "./connection.ts";
import { StoreKv } from "./kv.ts";
import type { Replica } from "./store.ts";

/** How long a gateway that shows no life is still listed, in milliseconds. */
const TTL_MS = 6_000;

/** The gateways of a store: each shows life by writing its entry again. */
export class Replicas {
  readonly #kv: StoreKv<Replica>;
  readonly #own: Replica;
  #timer: NodeJS.Timeout | undefined;
  #rev = 0;

  constructor(connection: StoreConnection) {
    this.#kv = new StoreKv(connection, "core/replicas", { ttl: TTL_MS }, () => {});
    this.#own = { id: connection.replica, version: VERSION, since: Date.now() };
  }

  async join(): Promise<void> {
    await this.#show();
    this.#timer = setTicker(() => void this.#show().catch(() => {}), TTL_MS / 3).unref();
  }

  async list(): Promise<readonly Replica[]> {
    const all: Replica[] = [];
    for await (const { value } of this.#kv.list()) all.push(value);
    return all.toSorted((left, right) => left.since - right.since || (left.id < right.id ? -1 : 1));
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer);
    await this.#kv.delete(this.#own.id).catch(() => {});
  }

  /** One that is paused for long finds its entry gone. */
  async #show(): Promise<void> {
    const { id } = this.#own;
    const rev = await this.#kv.update(id, this.#own, this.#rev);
    this.#rev = rev ?? (await this.#kv.put(id, this.#own));
  }
}
