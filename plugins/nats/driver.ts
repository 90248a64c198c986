import { setImmediate } from "node:timers/promises";
import type { Logger } from "pino";
import { setTicker } from "propylon/kit";
import type {
  ListOptions,
  LoggedValue,
  LogRetention,
  PutOptions,
  StoreDriver,
  StoredEntry,
  StoredValue,
  Unsubscribe,
  WorkQueue,
} from "propylon/store";
import { Link } from "./link/link.ts";
import type { Opened } from "./link/linking.ts";
import { Listening, type Listener } from "./store/listening.ts";
import { Logs } from "./store/logs.ts";
import { Parts } from "./store/parts.ts";
import { Queues } from "./queue/queues.ts";
import { apiErrorOf } from "./link/refusal.ts";
import { StoreRequest } from "./link/request.ts";
import type { NatsSettings } from "./settings.ts";
import { provideStore } from "./store/streams.ts";
import { Subjects } from "./store/subjects.ts";
import { Sweeper } from "./store/sweeper.ts";
import { TIMING, type Timing } from "./store/timing.ts";
import { Values } from "./store/values.ts";

/** JetStream's code for a stream that is not there. */
const NO_STREAM = 10_059;
/** Messages that cannot be read and are told in the log. */
const MAX_TOLD = 100;

/** What is said to the server when a connection is lost is dropped: a write that nobody waits for any more must not happen later. */
const LINK = {
  name: "propylon store",
  lacking: "no store",
  retry: { initial: 100, max: 1_000 },
  reconnects: 0,
  ping: 2_000,
};

/** A store in NATS JetStream: one stream for values, one for logs, one for work that waits, and subjects for messages. */
export class NatsDriver implements StoreDriver {
  readonly shared = true;
  readonly durable = true;
  readonly #link: Link;
  readonly #timing: Timing;
  readonly #subjects: Subjects;
  readonly #values: Values;
  readonly #logs: Logs;
  readonly #sweeper: Sweeper;
  readonly #queues: Queues;
  readonly #listeners = new Listening();
  readonly #pending = new Set<Promise<unknown>>();
  readonly #tickers: readonly NodeJS.Timeout[];
  #opened: Opened | undefined;
  #wasConnected = false;
  #isClosing = false;

  private constructor(nats: NatsSettings, prefix: string, log: Logger, timing: Timing) {
    const subjects = new Subjects(prefix);
    const parts = new Parts(subjects);
    const later = (work: (request: StoreRequest) => Promise<unknown>): void => this.#later(work);
    const broken = tellOnce(log);
    this.#timing = timing;
    this.#subjects = subjects;
    this.#values = new Values(subjects, parts, later, broken);
    this.#logs = new Logs(subjects, parts, later, broken);
    this.#sweeper = new Sweeper(subjects, parts, this.#values, timing);
    this.#queues = new Queues({
      subjects,
      nats,
      link: () => this.#link,
      run: (work) => this.#run(work),
      refused: (words) => log.warn({ words }, "NATS refuses a request for work"),
    });
    this.#link = new Link({ ...LINK, nats }, log, {
      provide: async (jetstream) => {
        await provideStore(jetstream, this.#opened!, subjects, nats);
        await this.#queues.provide(jetstream);
      },
      opened: (opened) => this.#adopt(opened),
      interrupted: () => this.#queues.interrupt(),
      forbidden: (error) => log.warn({ hint: error.hint }, error.message),
    });
    this.#link.onStatus(() => this.#look());
    // Not all replicas of a store at the same time.
    const sweep = timing.sweep * (0.5 + Math.random());
    this.#tickers = [
      setTicker(() => this.#later((request) => this.#listeners.check(request)), timing.check),
      setTicker(() => this.#later(() => this.#sweeper.sweep(() => this.#request())), sweep),
    ];
    for (const ticker of this.#tickers) ticker.unref();
  }

  /** @throws {GatewayError} why there is no store: at once where waiting does not help, else after a while */
  static async open(
    nats: NatsSettings,
    prefix: string,
    log: Logger,
    timing: Partial<Timing> = {},
  ): Promise<NatsDriver> {
    const driver = new NatsDriver(nats, prefix, log, { ...TIMING, ...timing });
    try {
      driver.#link.open();
      await driver.#link.ready(driver.#timing.open);
      return driver;
    } catch (error) {
      await driver.close();
      throw error;
    }
  }

  get(bucket: string, key: string): Promise<StoredValue | undefined> {
    return this.#run((request) => this.#values.get(request, bucket, key));
  }

  put(
    bucket: string,
    key: string,
    value: string,
    options?: PutOptions,
  ): Promise<number | undefined> {
    return this.#run((request) => this.#values.put(request, bucket, key, value, options));
  }

  delete(bucket: string, key: string, rev?: number): Promise<boolean> {
    return this.#run((request) => this.#values.delete(request, bucket, key, rev));
  }

  list(bucket: string, options: ListOptions): Promise<StoredEntry[]> {
    return this.#run((request) => this.#values.list(request, bucket, options));
  }

  watch(bucket: string, changed: (key: string | undefined) => void): Promise<Unsubscribe> {
    const { kvStream: stream } = this.#subjects;
    return this.#listen({
      subject: this.#subjects.changes(bucket),
      heard: ({ subject }) => changed(this.#subjects.keyOf(subject)),
      missed: () => changed(undefined),
      stored: { stream, filter: this.#subjects.values(bucket) },
    });
  }

  append(log: string, values: readonly string[]): Promise<number> {
    return this.#run((request) => this.#logs.append(request, log, values));
  }

  read(log: string, after: number, limit: number): Promise<LoggedValue[]> {
    return this.#run((request) => this.#logs.read(request, log, after, limit));
  }

  trim(log: string, retention: LogRetention): Promise<void> {
    return this.#run((request) => this.#logs.trim(request, log, retention));
  }

  follow(log: string, appended: () => void): Promise<Unsubscribe> {
    const { logStream: stream } = this.#subjects;
    return this.#listen({
      subject: this.#subjects.additions(log),
      heard: appended,
      missed: appended,
      stored: { stream, filter: this.#subjects.entries(log, "*") },
    });
  }

  publish(topic: string, message: string): Promise<void> {
    return this.#run(async (request) => {
      request.tell(this.#subjects.topic(topic), message);
      await request.flush();
    });
  }

  subscribe(topic: string, listener: (message: string) => void): Promise<Unsubscribe> {
    return this.#listen({
      subject: this.#subjects.topic(topic),
      heard: (message) => listener(message.string()),
      missed: () => {},
    });
  }

  queue(name: string): WorkQueue {
    return this.#queues.queue(name);
  }

  /** Removes what nobody can read any more; done now and then on its own. */
  async sweep(): Promise<void> {
    await this.#sweeper.sweep(() => this.#request());
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    for (const ticker of this.#tickers) clearInterval(ticker);
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
    await this.#link.close();
  }

  #listen(listener: Listener): Promise<Unsubscribe> {
    return this.#run((request) => this.#listeners.add(listener, request));
  }

  async #run<T>(work: (request: StoreRequest) => Promise<T>): Promise<T> {
    // A caller that tries again at once leaves room for the connection to come back.
    if (!this.#link.status.isConnected) await setImmediate();
    const running = work(this.#request());
    this.#track(running);
    try {
      return await running;
    } catch (error) {
      // It may fail because a stream is gone.
      if (isGone(error)) this.#link.verify();
      throw error;
    }
  }

  /** What need not be waited for, and may fail. */
  #later(work: (request: StoreRequest) => Promise<unknown>): void {
    if (this.#link.status.isConnected) this.#track(work(this.#request()).catch(() => {}));
  }

  #track(work: Promise<unknown>): void {
    const tracked = work.catch(() => {}).finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }

  /** @throws while there is no connection: nothing is said later */
  #request(): StoreRequest {
    const { isConnected, reason } = this.#link.status;
    if (isConnected && this.#opened && !this.#isClosing)
      return new StoreRequest(this.#opened, this.#timing.call);
    throw new Error(reason ?? "NATS cannot be reached.");
  }

  #adopt(opened: Opened): void {
    this.#opened = opened;
    this.#listeners.adopt(opened.connection);
    this.#queues.adopt(opened);
  }

  /** Back again: what was said meanwhile was not heard. */
  #look(): void {
    const { isConnected } = this.#link.status;
    if (isConnected && !this.#wasConnected) this.#listeners.tellMissed();
    this.#wasConnected = isConnected;
  }
}

/** Messages that cannot be read fill no log: each is told once, and so many of them. */
function tellOnce(log: Logger): (subject: string) => void {
  const told = new Set<string>();
  return (subject) => {
    if (told.has(subject) || told.size >= MAX_TOLD) return;
    told.add(subject);
    log.warn({ subject }, "a message of the store cannot be read and is left alone");
  };
}

/** Nobody answers for a stream, or the server knows none. */
function isGone(error: unknown): boolean {
  const { name } = error as { readonly name?: unknown };
  return name === "NoRespondersError" || apiErrorOf(error)?.code === NO_STREAM;
}
