import { boundedRecord, FIRST_PROBLEM, setTicker } from "propylon/kit";
import type { Store } from "propylon/store";
import { z } from "zod";
import { LEVELS, type EventLevel } from "./event.ts";
import { PASSING } from "./kinds.ts";

const TOPIC = "passing";
/** How often those are asked that came since, or broke off, in milliseconds. */
const LOOK_MS = 2_000;
/** Events that wait for a replica that reads slowly, and their characters of JSON; more are left out, and counted. */
const MAX_WAITING = 1_000;
const MAX_SIZE = 1_000_000;

const wantedSchema = z.object({ kinds: z.array(z.string()).max(10_000), level: z.enum(LEVELS) });
const eventSchema = z.object({
  kind: z.string().refine((kind) => PASSING.has(kind)),
  data: boundedRecord(z.string(), z.unknown(), 10_000),
  level: z.enum(LEVELS).exactOptional(),
  owner: z.string().exactOptional(),
});
const partSchema = z.object({ events: z.array(eventSchema).max(10_000), missed: z.int() });

/** What a replica has readers for. */
type Wanted = z.output<typeof wantedSchema>;
/** An event that is not kept. */
export type PassingEvent = z.output<typeof eventSchema>;
type Part = z.output<typeof partSchema>;

/** The events that are not kept, of all replicas of a store: fetched from the others while somebody here reads them. */
export class PassingEvents {
  readonly #store: Store;
  readonly #tell: (part: Part) => void;
  readonly #askers = new Set<Asker>();
  /** The replicas that are asked. */
  readonly #asked = new Map<string, AbortController>();
  /** What the others are asked for: all that is read here, and what was a moment ago. */
  #wanted: Wanted = NOTHING;
  #read: Wanted = NOTHING;
  #timer: NodeJS.Timeout | undefined;
  #stop: Promise<() => unknown> | undefined;

  /** @param tell hears what other replicas tell */
  constructor(store: Store, tell: (part: Part) => void) {
    this.#store = store;
    this.#tell = tell;
  }

  /** Answers other replicas from now on. @throws {GatewayError} `unavailable` */
  async open(): Promise<void> {
    this.#stop ??= this.#store.answer(TOPIC, (wanted, signal) => this.#answer(wanted, signal));
    await this.#stop;
  }

  /** Whether another replica has readers of a kind. */
  isRead(kind: string): boolean {
    for (const { kinds } of this.#askers) if (kinds.has(kind)) return true;
    return false;
  }

  /** Tells the replicas that have readers for it. */
  offer(event: PassingEvent): void {
    for (const asker of this.#askers) asker.push(event);
  }

  /** Has the others tell what is read here. What nobody reads any more they tell a little longer: readers may come and go. */
  want(kinds: readonly string[], level: EventLevel): void {
    this.#read = { kinds: [...kinds], level };
    if (!covers(this.#wanted, this.#read)) this.#askAnew();
  }

  async close(): Promise<void> {
    this.#read = NOTHING;
    this.#askAnew();
    const stop = await this.#stop?.catch(() => undefined);
    await stop?.();
  }

  /** Who is asked already is asked again before the last question ends, so that hardly anything falls between. */
  #askAnew(): void {
    const before = [...this.#asked];
    this.#asked.clear();
    this.#wanted = this.#read;
    clearInterval(this.#timer);
    if (this.#wanted.kinds.length > 0) {
      this.#timer = setTicker(() => void this.#look(), LOOK_MS).unref();
      for (const [replica] of before) void this.#ask(replica, this.#wanted);
      void this.#look();
    }
    for (const [, asking] of before) asking.abort();
  }

  /** Those that do not answer are asked again the next time. */
  async #look(): Promise<void> {
    if (!covers(this.#read, this.#wanted)) return this.#askAnew();
    const wanted = this.#wanted;
    const others = await this.#store.others().catch(() => []);
    if (wanted !== this.#wanted) return;
    for (const id of others) if (!this.#asked.has(id)) void this.#ask(id, wanted);
  }

  async #ask(replica: string, wanted: Wanted): Promise<void> {
    const asking = new AbortController();
    this.#asked.set(replica, asking);
    try {
      for await (const part of this.#store.ask(replica, TOPIC, wanted, asking.signal))
        this.#tell(partSchema.parse(part, FIRST_PROBLEM));
    } catch {
      // It left, or is of a version without this.
    }
    if (this.#asked.get(replica) === asking) this.#asked.delete(replica);
  }

  async *#answer(body: unknown, signal: AbortSignal): AsyncIterable<Part> {
    const asker = new Asker(wantedSchema.parse(body, FIRST_PROBLEM));
    this.#askers.add(asker);
    try {
      for (;;) {
        const part = await asker.next(signal);
        if (signal.aborted) return;
        yield part;
      }
    } finally {
      this.#askers.delete(asker);
    }
  }
}

const NOTHING: Wanted = { kinds: [], level: "fatal" };

/** Whether one asks for all that another does. */
function covers(one: Wanted, other: Wanted): boolean {
  const hasLines = other.kinds.includes("log");
  if (hasLines && LEVELS.indexOf(one.level) > LEVELS.indexOf(other.level)) return false;
  return other.kinds.every((kind) => one.kinds.includes(kind));
}

/** A replica that reads along. */
class Asker {
  readonly kinds: ReadonlySet<string>;
  readonly #level: number;
  #events: PassingEvent[] = [];
  #size = 0;
  #missed = 0;
  #wake = (): void => {};

  constructor({ kinds, level }: Wanted) {
    this.kinds = new Set(kinds);
    this.#level = LEVELS.indexOf(level);
  }

  push(event: PassingEvent): void {
    const isWanted = event.level === undefined || LEVELS.indexOf(event.level) >= this.#level;
    if (!isWanted || !this.kinds.has(event.kind)) return;
    const size = JSON.stringify(event).length;
    if (this.#events.length < MAX_WAITING && this.#size + size <= MAX_SIZE) {
      this.#events.push(event);
      this.#size += size;
    } else this.#missed++;
    this.#wake();
  }

  /** What came since the last time, as soon as there is any. */
  async next(signal: AbortSignal): Promise<Part> {
    const isEmpty = this.#events.length === 0 && this.#missed === 0;
    if (isEmpty && !signal.aborted) await this.#wait(signal);
    const part = { events: this.#events, missed: this.#missed };
    this.#events = [];
    this.#size = 0;
    this.#missed = 0;
    return part;
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        signal.removeEventListener("abort", end);
        resolve();
      };
      this.#wake = end;
      signal.addEventListener("abort", end, { once: true });
    });
  }
}
