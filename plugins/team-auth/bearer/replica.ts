import type { PluginContext } from "propylon";
import { pause, setTicker, within } from "propylon/kit";
import type { Topic } from "propylon/store";
import { type Ended, NOTHING_ENDED } from "../directory/changes.ts";
import { type Lease, RENEW_MS } from "./lease.ts";
import type { Loader } from "./loader.ts";
import { AccessSnapshot } from "./snapshot.ts";

/** How often others are looked for that have not said that they applied a change, in milliseconds. */
const LOOK_MS = 100;
/** How long a request waits for the database when the right to answer has ended, in milliseconds. */
const PATIENCE_MS = 500;

/** Gateways of which it is remembered what they applied; the previous ones are forgotten together. */
const MAX_REPLICAS = 1_000;

/** What gateways tell each other. */
type Message =
  | { readonly epoch: number; readonly from: string }
  | { readonly applied: number; readonly by: string; readonly ended: Ended };

/** What {@link Replica} needs. */
export interface ReplicaParts {
  readonly id: string;
  readonly loader: Loader;
  readonly lease: Lease;
  readonly topic: Topic<Message>;
  readonly log: PluginContext["log"];
  /** Ends what dead credentials have open, or all of them. */
  readonly evict: (all: boolean) => Ended;
  /** Hears that what was committed is in force here. */
  readonly applied: () => void;
}

/** This gateway's copy of the tables: up to date, or not answered from. */
export class Replica {
  readonly #parts: ReplicaParts;
  readonly #applied = new Map<string, { readonly epoch: number; readonly ended: Ended }>();
  readonly #closed = new AbortController();
  #snapshot = new AccessSnapshot();
  #working: Promise<unknown> | undefined;
  #next: Promise<Ended> | undefined;
  #isNextWhole = false;
  #renewing: Promise<void> | undefined;
  #wake = new AbortController();
  #isAway = false;

  constructor(parts: ReplicaParts) {
    this.#parts = parts;
  }

  get snapshot(): AccessSnapshot {
    return this.#snapshot;
  }

  /** Whether it may be answered from. */
  get isCurrent(): boolean {
    return this.#parts.lease.isValid;
  }

  /** @returns what ends it @throws while the database is away */
  async start(): Promise<() => Promise<void>> {
    const { lease, topic } = this.#parts;
    const stop = await topic.subscribe((message) => this.#receive(message));
    await this.#renew();
    const timer = setTicker(() => void this.#renewQuietly(), RENEW_MS);
    return async () => {
      clearInterval(timer);
      this.#closed.abort();
      await stop();
      await lease.release();
    };
  }

  /** Waits a moment for the right to answer; tells whether there is one. */
  async becomeCurrent(): Promise<boolean> {
    await within(this.#renewQuietly(), PATIENCE_MS);
    return this.isCurrent;
  }

  /** Puts an epoch in force here and on every other replica; those that do not answer lose their right to. */
  async spread(epoch: number): Promise<Ended> {
    const { lease, topic, id } = this.#parts;
    // The others read it while this gateway does. A gateway that misses the word looks on its own.
    topic.publish({ epoch, from: id }).catch(() => {});
    const reading = lease.behind(epoch);
    reading.catch(() => {});
    const own = await this.#catchUp(epoch);
    for (let behind = await reading; ; behind = await lease.behind(epoch))
      if (await this.#heardFrom(behind, epoch)) return this.#sum(own, epoch);
  }

  /** Whether all of these said that they applied an epoch, after at most a moment. */
  async #heardFrom(ids: readonly string[], epoch: number): Promise<boolean> {
    const isSilent = (id: string): boolean => (this.#applied.get(id)?.epoch ?? 0) < epoch;
    const until = performance.now() + LOOK_MS;
    for (let left = LOOK_MS; left > 0 && ids.some(isSilent); left = until - performance.now()) {
      await pause(left, AbortSignal.any([this.#wake.signal, this.#closed.signal]));
      this.#closed.signal.throwIfAborted();
    }
    return !ids.some(isSilent);
  }

  #receive(message: Message): void {
    if ("epoch" in message)
      return void (message.from === this.#parts.id || this.#answer(message.epoch));
    const { applied, by, ended } = message;
    if (this.#applied.size >= MAX_REPLICAS) this.#applied.clear();
    this.#applied.set(by, { epoch: applied, ended });
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  async #answer(epoch: number): Promise<void> {
    const { topic, id, log } = this.#parts;
    try {
      // It may be applied already, by a renewal: the maker of the change waits for a word all the same.
      const ended = epoch > this.#snapshot.epoch ? await this.#catchUp(epoch) : NOTHING_ENDED;
      await topic.publish({ applied: this.#snapshot.epoch, by: id, ended });
    } catch (err) {
      // The next renewal tries again, and until then the right to answer goes on for at most its length.
      log.warn({ err }, "a change of who may see what could not be read");
    }
  }

  async #catchUp(epoch: number): Promise<Ended> {
    return epoch === this.#snapshot.epoch ? NOTHING_ENDED : this.#read(false);
  }

  /** One at a time; those who come meanwhile share the next. */
  #read(isWhole: boolean): Promise<Ended> {
    this.#isNextWhole ||= isWhole;
    this.#next ??= (this.#working ?? Promise.resolve()).then(() => {
      const working = this.#apply(this.#isNextWhole);
      this.#working = working.catch(() => {});
      this.#next = undefined;
      this.#isNextWhole = false;
      return working;
    });
    return this.#next;
  }

  async #apply(isWhole: boolean): Promise<Ended> {
    const { loader, evict, applied } = this.#parts;
    const { epoch } = this.#snapshot;
    const apply = isWhole ? undefined : await loader.since(this.#snapshot);
    if (apply) apply(this.#snapshot);
    else this.#snapshot = await loader.load();
    applied();
    // A backup was put back: who was let in since is not known.
    return evict(this.#snapshot.epoch < epoch);
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#renewNow().finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  /** Who was away too long reads everything again: a backup may have been put back meanwhile. */
  async #renewNow(): Promise<void> {
    const { lease } = this.#parts;
    if (!lease.isValid) await this.#read(true);
    await lease.renew(this.#snapshot.epoch, (epoch) => this.#catchUp(epoch));
  }

  async #renewQuietly(): Promise<void> {
    const { log } = this.#parts;
    try {
      await this.#renew();
      if (this.#isAway) log.info("who may see what can be read again");
      this.#isAway = false;
    } catch (err) {
      if (!this.#isAway) log.error({ err }, "who may see what cannot be read");
      this.#isAway = true;
    }
  }

  #sum(own: Ended, epoch: number): Ended {
    const others = [...this.#applied.values()].filter((each) => each.epoch >= epoch);
    return [own, ...others.map(({ ended }) => ended)].reduce((sum, each) => ({
      sessions: sum.sessions + each.sessions,
      streams: sum.streams + each.streams,
      calls: sum.calls + each.calls,
    }));
  }
}
