import type { Unsubscribe } from "./driver.ts";
import type { StoreConnection } from "./connection.ts";
import type { Entry, Kv } from "./store.ts";

/** Tells what is in a part of a bucket and what changes there: keys come from the driver, values are read as they are then. */
export class Watch<T> {
  readonly #connection: StoreConnection;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #kv: Pick<Kv<T>, "get" | "list">;
  readonly #listener: (key: string, entry: Entry<T> | undefined) => void;
  /** Revision that was told last, by key. */
  readonly #told = new Map<string, number>();
  readonly #changed = new Set<string>();
  readonly #end = new AbortController();
  #listAll = true;
  #working: Promise<void> | undefined;

  constructor(
    connection: StoreConnection,
    bucket: string,
    prefix: string,
    kv: Pick<Kv<T>, "get" | "list">,
    listener: (key: string, entry: Entry<T> | undefined) => void,
  ) {
    this.#connection = connection;
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#kv = kv;
    this.#listener = listener;
  }

  async start(): Promise<Unsubscribe> {
    const stop = await this.#connection.run((driver) =>
      driver.watch(this.#bucket, (key) => this.#note(key)),
    );
    await this.#work();
    return () => {
      this.#end.abort();
      return stop();
    };
  }

  #note(key: string | undefined): void {
    if (key === undefined) this.#listAll = true;
    else if (key.startsWith(this.#prefix)) this.#changed.add(key);
    else return;
    // What goes wrong for good does so at the end of the gateway.
    this.#work().catch(() => {});
  }

  #work(): Promise<void> {
    this.#working ??= this.#workOff().finally(() => {
      this.#working = undefined;
      if (this.#hasWork) this.#note(undefined);
    });
    return this.#working;
  }

  async #workOff(): Promise<void> {
    while (this.#hasWork) {
      if (this.#listAll) await this.#tellAll();
      for (const key of this.#changed) {
        this.#changed.delete(key);
        const entry = await this.#again(() => this.#kv.get(key));
        this.#tell(key, entry);
      }
    }
  }

  async #tellAll(): Promise<void> {
    this.#listAll = false;
    const entries = await this.#again(() => collect(this.#kv.list(this.#prefix)));
    const there = new Set(entries.map(({ key }) => key));
    for (const key of this.#told.keys()) if (!there.has(key)) this.#tell(key, undefined);
    for (const entry of entries) this.#tell(entry.key, entry);
  }

  #tell(key: string, entry: Entry<T> | undefined): void {
    if (this.#isOver || this.#told.get(key) === entry?.rev) return;
    if (entry) this.#told.set(key, entry.rev);
    else this.#told.delete(key);
    this.#listener(key, entry);
  }

  /** However long the store is away. */
  #again<R>(work: () => Promise<R>): Promise<R> {
    return this.#connection.again(work, this.#end.signal);
  }

  get #hasWork(): boolean {
    return (this.#listAll || this.#changed.size > 0) && !this.#isOver;
  }

  get #isOver(): boolean {
    return this.#end.signal.aborted || this.#connection.closed.aborted;
  }
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
