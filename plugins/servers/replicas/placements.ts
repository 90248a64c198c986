import type { Logger } from "pino";
import { GatewayError } from "propylon";
import { type ManagedServer, FIRST_PROBLEM, pause } from "propylon/kit";
import { type Kv, type Store, storeKey } from "propylon/store";
import { RelayFollowers } from "./relay-followers.ts";
import { PlacementLease, type PlacementRecord, placementSchema } from "./placement-lease.ts";
import { type RelayQuestion, questionSchema, RELAY_TOPIC } from "./relay.ts";
import { RelayedCalls } from "./relayed-calls.ts";

/** Wait before it is tried again to listen while the store is away, in milliseconds. */
const RETRY_MS = 500;

/** The servers of a gateway that one replica of the store runs for all. Made with the first of them. */
export class Placements {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #records: Kv<PlacementRecord>;
  readonly #known = new Map<string, PlacementRecord>();
  readonly #all = new Map<string, PlacementLease>();
  readonly #closed = new AbortController();
  readonly #calls = new RelayedCalls();
  readonly #followers = new RelayFollowers();
  #isListening = false;

  constructor(store: Store, log: Logger) {
    this.#store = store;
    this.#log = log;
    this.#records = store.kv("placements", { schema: placementSchema });
  }

  /** Where a server runs, and who takes part in it. */
  of(name: string): PlacementLease {
    this.#listen();
    const known = this.#all.get(name);
    if (known) return known;
    const placement = new PlacementLease({
      name,
      store: this.#store,
      records: this.#records,
      log: this.#log,
    });
    placement.record = this.#known.get(storeKey(name));
    this.#all.set(name, placement);
    return placement;
  }

  /** Nobody here wants it any more. */
  forget(name: string, placement: PlacementLease): void {
    if (this.#all.get(name) === placement) this.#all.delete(name);
  }

  /** Moves what runs here to the other replicas; without one it goes on here. Never rejects. */
  async move(): Promise<void> {
    if (this.#all.size === 0) return;
    const others = await this.#store.others().catch(() => undefined);
    if (others && others.size > 0) await this.#stopAll();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#stopAll(0);
  }

  async #stopAll(graceMs?: number): Promise<void> {
    await Promise.all([...this.#all.values()].map((placement) => placement.stop(graceMs)));
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    const answer = (body: unknown, signal: AbortSignal): AsyncIterable<unknown> =>
      this.#answer(body, signal);
    void this.#begin(() => this.#store.answer(RELAY_TOPIC, answer));
    void this.#begin(() => this.#records.watch("", (key, entry) => this.#tell(key, entry?.value)));
  }

  /** From whenever the store lets it. */
  async #begin(listen: () => Promise<() => unknown>): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      const end = await listen().catch(() => undefined);
      if (end && signal.aborted) return void end();
      if (end) return signal.addEventListener("abort", () => void end(), { once: true });
      await pause(RETRY_MS, signal);
    }
  }

  #tell(key: string, record: PlacementRecord | undefined): void {
    if (record) this.#known.set(key, record);
    else this.#known.delete(key);
    for (const [name, placement] of this.#all) if (storeKey(name) === key) placement.tell(record);
  }

  async *#answer(body: unknown, signal: AbortSignal): AsyncIterable<unknown> {
    const question = questionSchema.parse(body, FIRST_PROBLEM);
    const server = this.#running(question);
    switch (question.verb) {
      case "call":
        return yield* this.#calls.run(question, server, signal);
      case "follow":
        return yield* this.#followers.follow(question, server, signal);
      case "answer":
        return this.#calls.answer(question);
      case "want":
        return this.#followers.want(question);
      case "reconnect":
        return server.reconnect?.();
      case "probe":
        return yield await server.probe!(signal);
    }
  }

  /** The newest that serves: the previous one serves on until its successor does. */
  #running({ server: name, fence }: RelayQuestion): ManagedServer {
    const placement = this.#all.get(name);
    // A replica that was stopped for a while may run it no more, and not know that yet.
    const isHeld = placement?.lease?.isHeld === true && placement.lease.fence === fence;
    const all = isHeld ? [...placement.placed] : [];
    const running = all.flatMap(({ local }) => local ?? []).toReversed();
    const serving = running.find(
      ({ status: { state } }) => state === "ready" || state === "degraded",
    );
    const found = serving ?? running[0];
    if (!found) throw new GatewayError("not_found", "This replica does not run the server.");
    return found;
  }
}
