import { GatewayError } from "../kit/errors.ts";
import type {
  ListOptions,
  LoggedValue,
  LogRetention,
  PutOptions,
  StoredEntry,
  StoredValue,
  StoreDriver,
  Unsubscribe,
} from "../store/driver.ts";
import type { WorkerChannel } from "./channel.ts";
import { STORE, type StoreListening, type StoreNews, type StoreOperation } from "./serve-store.ts";

/** The store that the primary keeps, as a worker uses it. */
export class ChannelDriver implements StoreDriver {
  readonly shared = true;
  readonly durable: boolean;
  readonly #channel: WorkerChannel;
  readonly #listeners = new Map<number, (what: string | undefined) => void>();
  #lastId = 0;

  /** @param durable whether the primary's is */
  constructor(channel: WorkerChannel, durable: boolean) {
    this.#channel = channel;
    this.durable = durable;
    channel.answer(STORE.news, ({ id, what }: StoreNews) => this.#listeners.get(id)?.(what));
  }

  get(bucket: string, key: string): Promise<StoredValue | undefined> {
    return this.#do("get", bucket, key);
  }

  put(
    bucket: string,
    key: string,
    value: string,
    options: PutOptions = {},
  ): Promise<number | undefined> {
    return this.#do("put", bucket, key, value, options);
  }

  delete(bucket: string, key: string, rev?: number): Promise<boolean> {
    return this.#do("delete", bucket, key, ...(rev === undefined ? [] : [rev]));
  }

  list(bucket: string, options: ListOptions): Promise<StoredEntry[]> {
    return this.#do("list", bucket, options);
  }

  watch(bucket: string, changed: (key: string | undefined) => void): Promise<Unsubscribe> {
    return this.#listen("watch", bucket, changed);
  }

  append(log: string, values: readonly string[]): Promise<number> {
    return this.#do("append", log, values);
  }

  read(log: string, after: number, limit: number): Promise<LoggedValue[]> {
    return this.#do("read", log, after, limit);
  }

  trim(log: string, retention: LogRetention): Promise<void> {
    return this.#do("trim", log, retention);
  }

  follow(log: string, appended: () => void): Promise<Unsubscribe> {
    return this.#listen("follow", log, appended);
  }

  publish(topic: string, message: string): Promise<void> {
    return this.#do("publish", topic, message);
  }

  subscribe(topic: string, listener: (message: string) => void): Promise<Unsubscribe> {
    return this.#listen("subscribe", topic, listener as (what: string | undefined) => void);
  }

  /** Tables are read and written by the process that has them, not by messages. */
  dialect(): Promise<never> {
    return Promise.reject(
      new GatewayError("invalid", "Workers share no tables through their own store.", {
        hint: "Set store: postgres://... in the config, or workers: 1.",
      }),
    );
  }

  /** The primary's stays open: other workers use it. */
  close(): Promise<void> {
    const listening = [...this.#listeners.keys()];
    this.#listeners.clear();
    for (const id of listening) this.#channel.tell(STORE.unlisten, id);
    return Promise.resolve();
  }

  #do<T>(operation: StoreOperation["operation"], ...args: readonly unknown[]): Promise<T> {
    const body: StoreOperation = { operation, args };
    return this.#channel.ask(STORE.operation, body);
  }

  async #listen(
    kind: StoreListening["kind"],
    name: string,
    listener: (what: string | undefined) => void,
  ): Promise<Unsubscribe> {
    const id = ++this.#lastId;
    this.#listeners.set(id, listener);
    const body: StoreListening = { id, kind, name };
    try {
      await this.#channel.ask(STORE.listen, body);
    } catch (error) {
      this.#listeners.delete(id);
      throw error;
    }
    return () => {
      if (this.#listeners.delete(id)) this.#channel.tell(STORE.unlisten, id);
    };
  }
}
