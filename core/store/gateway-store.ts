import type { Logger } from "pino";
import type { Kysely } from "kysely";
import { GatewayError } from "../kit/errors.ts";
import { Asking } from "./ask.ts";
import { StoreConnection } from "./connection.ts";
import type { Migration, RelationalData } from "./database.ts";
import { MemoryDriver } from "./memory.ts";
import type { StoreDriver } from "./driver.ts";
import { StoreKv } from "./kv.ts";
import { StoreLeases } from "./lease.ts";
import { StoreLog } from "./store-log.ts";
import { StoreMeter } from "./meter.ts";
import { StoreQueue } from "./store-queue.ts";
import { checkKey, scopedName, storeKey } from "./store-key.ts";
import { Replicas } from "./replicas.ts";
import type { Store } from "./store.ts";
import { StoreTopic } from "./topic.ts";

/** The store of a gateway, of which every plugin sees its own part. */
export class GatewayStore {
  readonly connection: StoreConnection;
  readonly #log: Logger;
  readonly #replicas: Replicas;
  readonly #asking: Asking;
  #relational: Promise<RelationalData> | undefined;
  #hasDryTables = false;

  constructor(driver: StoreDriver, log: Logger) {
    this.#log = log;
    this.connection = new StoreConnection(driver, log);
    this.#replicas = new Replicas(this.connection);
    this.#asking = new Asking(this.connection, this.#replicas);
  }

  /** The one that every gateway has without a word in its config. */
  static inMemory(log: Logger): GatewayStore {
    return new GatewayStore(new MemoryDriver(), log);
  }

  /**
   * The one of a gateway that is only looked at, which stores nothing.
   *
   * @param hasTables whether the config's store would hold tables
   */
  static forDryRun(log: Logger, hasTables: boolean): GatewayStore {
    const store = GatewayStore.inMemory(log);
    store.#hasDryTables = hasTables;
    return store;
  }

  /** Shows the others of the store that this gateway uses it. */
  join(): Promise<void> {
    return this.#replicas.join();
  }

  /** Takes another replica off that is known to have died, before its entry ends. */
  forget(replica: string): Promise<void> {
    return this.#replicas.remove(replica);
  }

  async close(): Promise<void> {
    // A replica that sees that it left looks for what it had heard.
    await this.#asking.leave().catch(() => {});
    await this.#replicas.leave();
    await this.#relational?.then((data) => data.close());
    await this.connection.close();
  }

  /** @param owner whose part it is: the name of a plugin */
  scope(owner: string): Store {
    const { connection } = this;
    const { replica, driver } = connection;
    const { shared, durable } = driver;
    return {
      replica,
      shared,
      durable,
      kv: (name, options = {}) => {
        const bucket = scopedName(owner, name);
        return new StoreKv(connection, bucket, options, this.#tellOnce(bucket));
      },
      topic: (name) => new StoreTopic(connection, scopedName(owner, name)),
      log: (name, options) => new StoreLog(connection, scopedName(owner, name), options),
      meter: (name, options) =>
        new StoreMeter(connection, scopedName(owner, "meters"), checkKey(storeKey(name)), options),
      lease: (name, options) =>
        new StoreLeases(connection, scopedName(owner, "leases")).acquire(storeKey(name), options),
      queue: (name) => new StoreQueue(connection, scopedName(owner, name)),
      replicas: () => this.#replicas.list(),
      others: () => this.#others(),
      isThere: async (id) => id === replica || (await this.#others()).has(id),
      ask: (to, topic, body, signal) =>
        this.#asking.ask(to, scopedName(owner, topic), body, signal),
      answer: (topic, handler) => this.#asking.answer(scopedName(owner, topic), handler as never),
    };
  }

  async #others(): Promise<ReadonlySet<string>> {
    const { replica, driver } = this.connection;
    const all = driver.shared ? await this.#replicas.list() : [];
    return new Set(all.map(({ id }) => id).filter((id) => id !== replica));
  }

  /**
   * The tables of a plugin, brought up to date.
   *
   * @throws {GatewayError} `invalid` where the store holds none
   */
  async database<T>(owner: string, migrations: readonly Migration[]): Promise<Kysely<T>> {
    if (this.#hasDryTables) return (await import("./dry-tables.ts")).openDryTables<T>();
    this.#relational ??= this.#openRelational().catch((error: unknown) => {
      this.#relational = undefined;
      throw error;
    });
    const data = await this.#relational;
    return data.open<T>(owner, migrations);
  }

  async #openRelational(): Promise<RelationalData> {
    const dialect = await this.connection.driver.dialect?.();
    if (!dialect)
      throw new GatewayError("invalid", "The gateway's store holds no tables.", {
        hint: "Set store: sqlite:./data/gateway.db in the config, or store: postgres://...",
      });
    // A gateway without relational data does not load the library.
    const { RelationalData: Data } = await import("./database.ts");
    return new Data(dialect);
  }

  /** A bucket of values that cannot be read fills no log. */
  #tellOnce(bucket: string): (key: string, reason: string) => void {
    let isTold = false;
    return (key, reason) => {
      if (isTold) return;
      isTold = true;
      this.#log.warn(
        { bucket, key, reason },
        "a value of the store cannot be read and is left alone",
      );
    };
  }
}
