import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { GatewayError } from "propylon";
import { backoffDelay, pause, within } from "propylon/kit";
import type { StoreHost, Unsubscribe } from "propylon/store";
import type { Client } from "pg";
import { readNotice } from "./notices.ts";

const RECONNECT = { initial: 100, max: 5_000 };
/** How often the connection is tried, in milliseconds: one that died without a word is noticed so. */
const BEAT_MS = 5_000;
/** How long a notice of our own may take, in milliseconds. */
const PROBE_MS = 3_000;

/** What a listener needs. */
export interface ListenerSettings {
  readonly channel: string;
  readonly log: StoreHost["log"];
  /** How long somebody waits for the connection, in milliseconds. */
  readonly patience: number;
  /** A connection that is not open yet. */
  connect(): Client;
  /** Sends a notice over another connection. */
  notify(payload: string): Promise<unknown>;
}

/** One connection for what other replicas change and say, made again whenever it is lost. */
export class ChangeListener {
  readonly #settings: ListenerSettings;
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #closed = new AbortController();
  readonly #messages = new Map<string, string>();
  #client: Client | undefined;
  #connected: Promise<void> = Promise.resolve();
  #work: Promise<void> = Promise.resolve();

  private constructor(settings: ListenerSettings) {
    this.#settings = settings;
  }

  /** @throws {GatewayError} `invalid` behind a pooler that gives every transaction another connection */
  static async open(settings: ListenerSettings): Promise<ChangeListener> {
    const listener = new ChangeListener(settings);
    listener.#client = await listener.#connect();
    listener.#work = listener.#stay(listener.#client);
    return listener;
  }

  /** Tells of notices of a kind and a name from now on; `undefined` when some may have been missed. */
  async on(
    kind: "kv" | "log" | "topic",
    name: string,
    listener: (text: string | undefined) => void,
  ): Promise<Unsubscribe> {
    if (!(await within(this.#connected, this.#settings.patience)))
      throw new Error("The connection for changes is lost.");
    const event = `${kind} ${name}`;
    // One listener may be there twice.
    const own = (text: string | undefined): void => listener(text);
    this.#events.on(event, own);
    return () => {
      this.#events.off(event, own);
      if (this.#events.listenerCount(event) === 0) this.#messages.delete(name);
    };
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#events.removeAllListeners();
    await this.#client?.end().catch(() => {});
    await this.#work;
  }

  /** Keeps a connection open until the end. */
  async #stay(first: Client): Promise<void> {
    const { log } = this.#settings;
    for (let client = first; !this.#closed.signal.aborted;) {
      await this.#beatUntilLost(client);
      if (this.#closed.signal.aborted) return;
      log.warn("the store's connection for changes is lost; it is made again");
      const again = this.#reconnect();
      this.#connected = again.then(() => {});
      const next = await again;
      if (!next) return;
      client = next;
      log.info("the store's connection for changes is back");
      this.#tellAll();
    }
  }

  /** @returns `undefined` at the end */
  async #reconnect(): Promise<Client | undefined> {
    for (let failures = 1; !this.#closed.signal.aborted; failures++) {
      await pause(backoffDelay(failures, RECONNECT), this.#closed.signal);
      try {
        if (this.#closed.signal.aborted) return undefined;
        const client = await this.#connect();
        // It may have been closed meanwhile.
        if (this.#closed.signal.aborted) await client.end();
        else return (this.#client = client);
      } catch (err) {
        this.#settings.log.debug({ err }, "the store's connection for changes cannot be made");
      }
    }
    return undefined;
  }

  async #connect(): Promise<Client> {
    const client = this.#settings.connect();
    // What breaks it ends it, too.
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query(`LISTEN "${this.#settings.channel}"`);
      await this.#probe(client);
      client.on("notification", ({ payload = "" }) => this.#receive(payload));
      return client;
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
  }

  /** A pooler of transactions takes LISTEN and tells nothing ever: only a notice that arrives proves the connection. */
  async #probe(client: Client): Promise<void> {
    const token = `probe ${randomUUID()}`;
    const heard = new Promise<void>((resolve) => {
      const hear = ({ payload }: { readonly payload?: string | undefined }): void => {
        if (payload !== token) return;
        client.off("notification", hear);
        resolve();
      };
      client.on("notification", hear);
    });
    await this.#settings.notify(token);
    if (await within(heard, PROBE_MS)) return;
    const reason = "The store's connection to PostgreSQL gets no notifications.";
    const hint =
      "Name the database itself, or a port of the pooler in session mode: LISTEN does not work through a pooler in transaction mode.";
    this.#settings.log.warn(`${reason} ${hint}`);
    throw new GatewayError("invalid", reason, { hint });
  }

  async #beatUntilLost(client: Client): Promise<void> {
    const lost = new AbortController();
    const over = AbortSignal.any([lost.signal, this.#closed.signal]);
    void once(client, "end").then(
      () => lost.abort(),
      () => lost.abort(),
    );
    while (!over.aborted) {
      await pause(BEAT_MS, over);
      if (over.aborted) return;
      await client.query("SELECT 1").catch(() => {
        lost.abort();
        void client.end().catch(() => {});
      });
    }
  }

  #receive(payload: string): void {
    const notice = readNotice(payload);
    if (!notice || this.#events.listenerCount(`${notice.kind} ${notice.name}`) === 0) return;
    const { kind, name, text } = notice;
    if (kind !== "topic") return void this.#events.emit(`${kind} ${name}`, text);
    // The notices of one transaction come one behind the other.
    const message = (notice.isFirst ? "" : (this.#messages.get(name) ?? "")) + text;
    if (!notice.isLast) return void this.#messages.set(name, message);
    this.#messages.delete(name);
    this.#events.emit(`topic ${name}`, message);
  }

  /** Messages are lost with the connection; all else may have changed. */
  #tellAll(): void {
    this.#messages.clear();
    for (const event of this.#events.eventNames())
      if (!String(event).startsWith("topic ")) this.#events.emit(event, undefined);
  }
}
