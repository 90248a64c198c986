import type { Redis as RedisClient, RedisOptions as ClientOptions } from "ioredis";
import { backoffDelay, importOptional, setTicker, within } from "propylon/kit";
import type {
  ListOptions,
  LoggedValue,
  LogRetention,
  PutOptions,
  StoreDriver,
  StoredEntry,
  StoredValue,
  StoreHost,
  Unsubscribe,
} from "propylon/store";
import { GatewayError, isGatewayError } from "propylon";
import { readRedisUrl } from "./address.ts";
import { Channels } from "./channels.ts";
import type { RedisOptions } from "./options.ts";
import { type ScriptedCommands, scripts } from "./scripts.ts";

/** What an operator can do, by the first word of an error of the server, or the system's code. */
const HINTS: Readonly<Record<string, string>> = {
  WRONGPASS: "Check user and password in the store's URL.",
  NOAUTH: "Put user and password into the store's URL.",
  NOPERM:
    "Give the user the commands +@all -@dangerous +info, and all keys and channels of the prefix.",
  ERR: "Check the number of the database in the store's URL.",
  ECONNREFUSED: "Check host and port in the store's URL, and that Redis runs.",
  ENOTFOUND: "Check the host in the store's URL.",
};

/** An error as the client throws it has the command in it, and with that values or a password. */
function withoutCommand(error: unknown): Error {
  const { message, code } = error as { readonly message: string; readonly code?: string };
  return Object.assign(new Error(message || code), code === undefined ? {} : { code });
}

/** Why a store cannot be opened, as a sentence. */
function redisRefusal(error: unknown, name: string): GatewayError {
  if (isGatewayError(error)) return error;
  const cause = withoutCommand(error);
  const { code = /^[A-Z]+/.exec(cause.message)?.[0] ?? "" } = cause as { code?: string };
  const reason = cause.message.replace(/\.$/, "");
  return new GatewayError("io_error", `Redis at ${name} cannot be used: ${reason}.`, {
    cause,
    hint: HINTS[code] ?? "Check the store's URL, and that Redis runs.",
  });
}

/** Oldest server that has users, and writes of scripts that know the time. */
const OLDEST_SERVER = 6;

/**
 * Whether a server can hold a store.
 *
 * @param info what `INFO` says
 * @throws {GatewayError} `invalid` saying why not
 */
export function checkFitness(info: string): void {
  const said = (name: string): string =>
    new RegExp(`^${name}:([^\\r\\n]*)`, "m").exec(info)?.[1] ?? "";
  if (Number.parseInt(said("redis_version"), 10) < OLDEST_SERVER)
    throw wrong(`The store's Redis is older than ${OLDEST_SERVER}.`, "Update the server.");
  if (said("cluster_enabled") === "1")
    throw wrong(
      "The store's Redis is a node of a cluster, which is not supported.",
      "Name a server of its own; everything of a store has to be on one.",
    );
  if (said("role") === "slave")
    throw wrong("The store's Redis is a read-only replica.", "Name the primary.");
  const policy = said("maxmemory_policy");
  if (said("maxmemory") !== "0" && policy !== "noeviction")
    throw wrong(
      `The store's Redis drops values when its memory is full (maxmemory-policy ${policy}).`,
      "Set maxmemory-policy to noeviction: what the gateway confirmed has to stay.",
    );
}

function wrong(message: string, hint: string): GatewayError {
  return new GatewayError("invalid", message, { hint });
}

/** A call that takes longer is given up, in milliseconds: a little less than the gateway waits. */
const PATIENCE_MS = 4_800;
/** A server that says nothing for so long while an answer is due is left, in milliseconds. */
const SILENCE_MS = 4_500;
const RECONNECT = { initial: 100, max: 5_000 };
/** How long a connection may take to end, in milliseconds. */
const CLOSE_MS = 1_000;
/** How often ended values are removed, in milliseconds. */
const SWEEP_MS = 30_000;
/** Values and entries that are removed at once. */
const BATCH = 500;
/** Longest time until a value ends, in milliseconds: a century. */
const LONGEST_MS = 100 * 365 * 86_400_000;
/** Behind every key. */
const LAST = "\u007F";

/**
 * Opens a store in Redis or Valkey.
 *
 * @throws {GatewayError} when the server cannot be reached or cannot hold it, saying why; never with the password
 */
export async function openRedis(url: string, { options, log }: StoreHost): Promise<StoreDriver> {
  const { prefix } = options as RedisOptions;
  const address = readRedisUrl(url);
  const { Redis } = await importOptional(
    () => import("ioredis"),
    "A store in Redis needs its client.",
    ["ioredis"],
  );
  let isOpen = false;
  const common = {
    ...address.options,
    lazyConnect: true,
    protocol: 2,
    connectTimeout: PATIENCE_MS,
    commandTimeout: PATIENCE_MS,
    socketTimeout: SILENCE_MS,
    // Nothing is sent twice: the caller is told that it is not known whether it happened.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    retryStrategy: (failures: number) => (isOpen ? backoffDelay(failures, RECONNECT) : null),
    // After a failover the former primary is one that only reads.
    reconnectOnError: ({ message }: Error) => message.startsWith("READONLY"),
  } satisfies ClientOptions;
  const [commands, listener] = [new Redis({ ...common, scripts }), new Redis(common)];
  try {
    await Promise.all([connect(commands), connect(listener)]);
    checkFitness(await commands.info());
    isOpen = true;
  } catch (error) {
    for (const each of [commands, listener]) each.disconnect();
    throw redisRefusal(error, address.name);
  }
  listener.on("close", () => log.warn("the store's connection for changes is lost"));
  listener.on("ready", () => log.info("the store's connection for changes is back"));
  return new RedisDriver(
    commands as RedisClient & ScriptedCommands,
    new Channels(listener),
    new Names(prefix, address.database),
  );
}

/** What is wrong is told beside the outcome; one that may not choose its database uses the first. */
async function connect(client: RedisClient): Promise<void> {
  let cause: unknown;
  client.on("error", (error: unknown) => (cause ??= error));
  await client.connect().catch((error: unknown) => (cause ??= error));
  if (cause !== undefined) throw cause;
}

/** Names of keys and channels. In braces, so that a proxy in front of several servers takes all to one. */
class Names {
  readonly #prefix: string;
  readonly #channels: string;

  /** @param database channels are those of the whole server */
  constructor(prefix: string, database: number) {
    this.#prefix = `{${prefix}}:`;
    this.#channels = `{${prefix}}:${database}:`;
  }

  of(kind: "kv" | "keys" | "log", name: string): string {
    return `${this.#prefix}${kind}:${name}`;
  }

  single(what: "ends" | "rev" | "seq"): string {
    return this.#prefix + what;
  }

  channel(kind: "kv" | "log" | "topic", name: string): string {
    return `${this.#channels}${kind}:${name}`;
  }
}

/** A store in Redis: every call one command, every change told in the same script. */
class RedisDriver implements StoreDriver {
  readonly shared = true;
  readonly durable = true;
  readonly #client: RedisClient & ScriptedCommands;
  readonly #channels: Channels;
  readonly #names: Names;
  readonly #sweeper: NodeJS.Timeout;
  #closing: Promise<void> | undefined;

  constructor(client: RedisClient & ScriptedCommands, channels: Channels, names: Names) {
    this.#client = client;
    this.#channels = channels;
    this.#names = names;
    this.#sweeper = setTicker(
      () => void this.#sweep().catch(() => {}),
      SWEEP_MS * (0.5 + Math.random()),
    ).unref();
  }

  async get(bucket: string, key: string): Promise<StoredValue | undefined> {
    const name = this.#names.of("kv", `${bucket}:${key}`);
    const [rev, value] = await told(this.#client.hmget(name, "r", "v"));
    return value == null ? undefined : { value, rev: Number(rev) };
  }

  async put(
    bucket: string,
    key: string,
    value: string,
    { rev, until }: PutOptions = {},
  ): Promise<number | undefined> {
    const ttl = until === undefined ? "" : Math.min(Math.floor(until - Date.now()), LONGEST_MS);
    const names = [...this.#placesOf(bucket, key), this.#names.single("rev")];
    const words = [...this.#wordsOf(bucket, key), value, ttl, rev ?? ""];
    const written = await told(this.#client.put(...names, ...words));
    return written === null ? undefined : Number(written);
  }

  async delete(bucket: string, key: string, rev?: number): Promise<boolean> {
    const words = [...this.#wordsOf(bucket, key), rev ?? ""];
    return (await told(this.#client.remove(...this.#placesOf(bucket, key), ...words))) === 1;
  }

  async list(bucket: string, { prefix, after = "", limit }: ListOptions): Promise<StoredEntry[]> {
    const names = [this.#names.of("keys", bucket)];
    const values = this.#names.of("kv", `${bucket}:`);
    const found: StoredEntry[] = [];
    let lowest = after < prefix ? `[${prefix}` : `(${after}`;
    for (;;) {
      const wanted = limit - found.length;
      const rows = await told(
        this.#client.list(...names, lowest, `(${prefix}${LAST}`, wanted, values),
      );
      for (const [key, rev, value] of rows)
        if (value !== null) found.push({ key, value, rev: Number(rev) });
      if (rows.length < wanted || found.length === limit) return found;
      // Some of them had ended.
      lowest = `(${rows.at(-1)![0]}`;
    }
  }

  watch(bucket: string, changed: (key: string | undefined) => void): Promise<Unsubscribe> {
    return told(this.#channels.on(this.#names.channel("kv", bucket), changed, true));
  }

  async append(log: string, values: readonly string[]): Promise<number> {
    const names = [this.#names.of("log", log), this.#names.single("seq")];
    const words = [this.#names.channel("log", log), ...values];
    return Number(await told(this.#client.appendAll(...names, ...words)));
  }

  async read(log: string, after: number, limit: number): Promise<LoggedValue[]> {
    const name = this.#names.of("log", log);
    const rows = await told(this.#client.xrange(name, `${after + 1}-0`, "+", "COUNT", limit));
    return rows.map(([id, [, value = "", , at]]) => ({
      seq: Number.parseInt(id, 10),
      value,
      at: Number(at),
    }));
  }

  async trim(log: string, { maxEntries, before }: LogRetention): Promise<void> {
    const maxAge = before === undefined ? "" : Math.floor(Date.now() - before);
    const words = [this.#names.of("log", log), maxEntries, maxAge, BATCH];
    for (let dropped = BATCH; dropped === BATCH && !this.#closing;)
      dropped = await told(this.#client.trim(...words));
  }

  follow(log: string, appended: () => void): Promise<Unsubscribe> {
    return told(this.#channels.on(this.#names.channel("log", log), () => appended(), true));
  }

  async publish(topic: string, message: string): Promise<void> {
    await told(this.#client.publish(this.#names.channel("topic", topic), message));
  }

  subscribe(topic: string, listener: (message: string) => void): Promise<Unsubscribe> {
    const channel = this.#names.channel("topic", topic);
    return told(this.#channels.on(channel, (message) => listener(message!), false));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#channels.close();
    // What is under way ends before.
    await within(
      this.#client.quit().catch(() => {}),
      CLOSE_MS,
    );
    this.#client.disconnect();
  }

  #placesOf(bucket: string, key: string): readonly string[] {
    const value = this.#names.of("kv", `${bucket}:${key}`);
    return [value, this.#names.of("keys", bucket), this.#names.single("ends")];
  }

  #wordsOf(bucket: string, key: string): readonly string[] {
    return [key, `${bucket} ${key}`, this.#names.channel("kv", bucket)];
  }

  async #sweep(): Promise<void> {
    const fronts = [
      this.#names.of("kv", ""),
      this.#names.of("keys", ""),
      this.#names.channel("kv", ""),
    ];
    for (let ended = BATCH; ended === BATCH && !this.#closing;)
      ended = await told(this.#client.sweep(this.#names.single("ends"), BATCH, ...fronts));
  }
}

async function told<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw withoutCommand(error);
  }
}
