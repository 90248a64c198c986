import { randomBytes } from "node:crypto";
import { GatewayError } from "propylon";
import { setTicker } from "propylon/kit";
import type { PluginEvent } from "propylon/internal";
import type { Store } from "propylon/store";
import { ChannelEvent, LEVELS, type EventDetails } from "./event.ts";
import { PassingEvents } from "./passing-events.ts";
import { PASSING, type EventData, type ServerSnapshot, type TopicKind } from "./kinds.ts";
import { EventRing, type RingBounds } from "./ring.ts";
import { SharedLog } from "./shared-log.ts";
import type { Stream } from "./stream.ts";

const ID = /^(\w+)-(\d{1,15})$/;

/** What happens, for readers. Lives through reloads of the plugin: streams, ids and what is kept for late readers. */
export class Channel {
  readonly #instance = randomBytes(6).toString("hex");
  readonly #replica: string;
  /** With a store that several replicas share: the events of all of them. */
  readonly #shared: SharedLog | undefined;
  /** What is not kept, of all of them. */
  readonly #passing: PassingEvents | undefined;
  readonly #ring = new EventRing();
  readonly #streams = new Set<Stream>();
  /** How many streams show each kind that is made only when somebody does. */
  readonly #readers = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Names of the servers that were told of; `undefined` before the first look. */
  known: Set<string> | undefined;
  #bounds: RingBounds = { events: 0, bytes: 0 };

  constructor(store: Store) {
    this.#replica = store.replica;
    if (!store.shared) return;
    this.#shared = new SharedLog(store, {
      tell: ({ kind, data, ...details }, seq) => this.#take(seq, kind, data, details),
      lose: (seq, missed) => this.#lose(seq, missed),
    });
    this.#passing = new PassingEvents(store, ({ events, missed }) => {
      for (const { kind, data, ...details } of events)
        this.#send(new ChannelEvent(kind, data, details));
      if (missed > 0) this.#tellSlow(missed);
    });
  }

  /** What ids begin with: tells this run of the gateway from every other, or this store from every other. */
  get instance(): string {
    return this.#shared?.epoch ?? this.#instance;
  }

  /** Reads what all replicas of the store told. @throws {GatewayError} `unavailable` */
  async open(bounds: RingBounds): Promise<void> {
    this.#bounds = bounds;
    await this.#shared?.open(bounds.events);
    await this.#passing?.open();
  }

  /** Streams that are open. */
  get size(): number {
    return this.#streams.size;
  }

  /** Id of the last event that is kept. */
  get lastId(): string {
    return this.#idOf(this.#ring.last);
  }

  /** Whether any stream shows a kind, also at another replica; for what costs something to make. */
  isRead(kind: TopicKind): boolean {
    return (this.#readers.get(kind) ?? 0) > 0 || this.#passing?.isRead(kind) === true;
  }

  /** Tells everyone, and keeps it for who comes back. */
  publish<K extends TopicKind>(
    kind: K,
    data: EventData[K],
    bounds: RingBounds,
    details: Partial<Pick<EventDetails, "access">> = {},
  ): void {
    this.#keep(kind, data, details, bounds);
  }

  /** Tells those who may see it of something that a plugin says, and keeps it for them. */
  relay({ kind, data, ...details }: PluginEvent, bounds: RingBounds): void {
    this.#keep(kind, data, details, bounds);
  }

  /** Tells who reads now. */
  mention<K extends TopicKind>(
    kind: K,
    data: EventData[K],
    details: Pick<EventDetails, "level" | "owner"> = {},
  ): void {
    if (!this.#passing) return this.#send(new ChannelEvent(kind, data, details));
    const at = new Date().toISOString();
    const told = { at, replica: this.#replica, ...data };
    this.#send(new ChannelEvent(kind, told, details));
    this.#passing.offer({ kind, data: { ...told }, ...details });
  }

  /**
   * Takes a stream in. It shows nothing before it is greeted, as long as nothing is waited for in between.
   *
   * @param max streams there may be
   * @throws {GatewayError} `rate_limited` when there are as many, `draining` when the channel is closed
   */
  join(stream: Stream, heartbeat: number, max: number): void {
    if (this.#isClosed) throw new GatewayError("draining", "The gateway is shutting down.");
    if (this.#streams.size >= max)
      throw new GatewayError("rate_limited", `There are ${max} event streams already.`, {
        hint: "Close some, or raise plugins.events.maxStreams.",
        headers: { "retry-after": "5" },
      });
    this.#streams.add(stream);
    this.#count(stream.subscription, 1);
    this.#timer ??= setTicker(() => this.#beat(), heartbeat).unref();
  }

  /** Lets a stream show something else, or from another event on. */
  resubscribe(stream: Stream, subscription: Stream["subscription"]): void {
    const before = stream.subscription;
    stream.subscription = subscription;
    this.#count(subscription, 1);
    this.#count(before, -1);
  }

  /** Says where a stream begins, and what its reader missed. */
  greet(stream: Stream, servers: readonly ServerSnapshot[]): void {
    const { lastEventId, kinds } = stream.subscription;
    stream.known = 0;
    const missed = lastEventId === undefined ? [] : this.#since(lastEventId);
    const { instance, lastId } = this;
    // Its id is where the reader stands: a stream that is interrupted while it catches up loses nothing.
    const id = "reason" in missed ? lastId : (lastEventId ?? lastId);
    stream.tell("hello", { instance, lastId, servers, kinds: [...kinds] }, { id });
    if ("reason" in missed) stream.tell("gap", missed);
    else if ("ahead" in missed) void this.#waitFor(stream, missed.ahead);
    else for (const event of missed) stream.push(event);
  }

  /** Its reader is gone. */
  leave(stream: Stream): void {
    stream.drop();
    if (!this.#streams.delete(stream)) return;
    this.#count(stream.subscription, -1);
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Ends every stream, for good. */
  close(reason: EventData["closing"]["reason"]): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.close(reason);
  }

  /** Ends every stream, and writes what others are to be told. */
  async dispose(): Promise<void> {
    this.close("removed");
    await this.#passing?.close();
    await this.#shared?.close();
  }

  #since(id: string): readonly ChannelEvent[] | EventData["gap"] | { readonly ahead: number } {
    const [, instance, digits] = ID.exec(id) ?? [];
    if (instance === undefined) return { reason: "unknown", missed: null };
    if (instance !== this.instance) return { reason: "restarted", missed: null };
    const number = Number(digits);
    const missed = this.#ring.last - number;
    if (missed < 0) return this.#shared ? { ahead: number } : { reason: "unknown", missed: null };
    // Places in a store have gaps.
    return this.#ring.after(number) ?? { reason: "expired", missed: this.#shared ? null : missed };
  }

  /** Its reader comes from a replica that has read more of the store than this one, or makes ids up. */
  async #waitFor(stream: Stream, seq: number): Promise<void> {
    stream.known = seq;
    const isThere = await this.#shared!.has(seq).catch(() => false);
    if (isThere || stream.known !== seq) return;
    stream.known = 0;
    stream.tell("gap", { reason: "unknown", missed: null });
  }

  #keep(kind: string, data: object, details: EventDetails, bounds: RingBounds): void {
    this.#bounds = bounds;
    if (!this.#shared) return this.#take(this.#ring.last + 1, kind, data, details);
    const at = new Date().toISOString();
    const { access, owner, once } = details;
    this.#shared.add({
      kind,
      data: { at, replica: this.#replica, ...data },
      ...(access !== undefined && { access }),
      ...(owner !== undefined && { owner }),
      ...(once !== undefined && { once }),
    });
  }

  #take(seq: number, kind: string, data: object, details: EventDetails): void {
    const event = new ChannelEvent(kind, data, { ...details, id: this.#idOf(seq), seq });
    this.#ring.add(seq, event, this.#bounds);
    this.#send(event);
  }

  #lose(seq: number, missed: number | null): void {
    this.#ring.restart(seq);
    for (const stream of this.#streams) stream.tell("gap", { reason: "lost", missed });
  }

  #send(event: ChannelEvent): void {
    for (const stream of this.#streams) stream.push(event);
  }

  #beat(): void {
    for (const stream of this.#streams) stream.beat();
  }

  #count({ kinds }: Stream["subscription"], by: 1 | -1): void {
    for (const kind of kinds)
      if (PASSING.has(kind)) this.#readers.set(kind, (this.#readers.get(kind) ?? 0) + by);
    if (this.#passing) this.#want(this.#passing);
  }

  /** Asks other replicas for what is read here, and for no line of a log that nobody shows. */
  #want(passing: PassingEvents): void {
    const kinds = [...PASSING].filter((kind) => (this.#readers.get(kind) ?? 0) > 0);
    let least = LEVELS.length - 1;
    if (kinds.includes("log"))
      for (const { subscription } of this.#streams)
        if (subscription.kinds.has("log"))
          least = Math.min(least, LEVELS.indexOf(subscription.level));
    passing.want(kinds, LEVELS[least]!);
  }

  #tellSlow(missed: number): void {
    for (const stream of this.#streams)
      if ([...PASSING].some((kind) => stream.subscription.kinds.has(kind)))
        stream.tell("gap", { reason: "slow", missed });
  }

  #idOf(number: number): string {
    return `${this.instance}-${number}`;
  }
}
