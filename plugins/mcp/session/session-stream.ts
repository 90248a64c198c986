import { GatewayError } from "propylon";
import { setTimer } from "propylon/kit";
import { z } from "zod";
import type { Journal, Journals, ResumableReply, ResumableSession } from "../message/journal.ts";
import { notification } from "../message/reply.ts";
import type { EventStream } from "../message/stream.ts";

/** How long a stream has told nothing when another replica goes on with it, in milliseconds. */
const QUIET_MS = 4_000;
/** Two replicas hear of one update within this time of each other, in milliseconds; below {@link QUIET_MS}. */
const LAG_MS = 2_000;
/** Messages that are kept for a client whose connection breaks. */
const MAX_KEPT = 100;
/** Messages that are remembered while another replica still tells them, and their characters. */
const MAX_HELD = 1_000;
const MAX_HELD_SIZE = 1_048_576;

/** Messages of a stream that goes to another replica, each fit for an event; `null`: some before them are missing. */
export const streamPartSchema = z
  .array(
    z.object({ id: z.string().regex(/^[\w.-]{1,200}$/), message: z.string().regex(/^[^\r\n]*$/) }),
  )
  .max(1_000)
  .nullable();

/** One of them. */
export type StreamPart = Readonly<z.output<typeof streamPartSchema>>;

/** A message that another replica may have told. */
interface Held {
  /** When it came, by `performance.now()`. */
  readonly at: number;
  readonly message: string;
}

/**
 * The stream of a session that belongs to no call, where replicas share the session. One of them tells what happens, since each hears
 * of it on its own; another one to which the client comes reads it there, and continues on its own once nothing can be on its way.
 */
export class SessionStream implements ResumableReply {
  readonly #journals: Journals;
  readonly #session: ResumableSession;
  readonly #journal: Journal;
  /** Present while another replica tells. */
  #held: Held[] | undefined = [];
  #heldSize = 0;
  /** When the last one came for which there was no room, by `performance.now()`. */
  #droppedAt = -Infinity;
  #out: EventStream | undefined;
  /** Number of the last event that went out. */
  #sent = 0;
  #spokeAt = 0;
  readonly #ended = new AbortController();
  /** Who reads at another replica; a later one takes its place. */
  #reader: AbortController | undefined;
  #wake = (): void => {};
  /** Id of the last event that another replica told, behind which this one goes on. */
  from: string | undefined;

  constructor(journals: Journals, session: ResumableSession) {
    this.#journals = journals;
    this.#session = session;
    this.#journal = journals.begin(this, session);
  }

  /** Aborts when it tells nothing any more. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Whether a client reads what happens here, also at another replica. */
  get open(): boolean {
    return this.isRead || (this.#held === undefined && this.#reader?.signal.aborted === false);
  }

  /** Whether a client has a connection to this replica for it. */
  get isRead(): boolean {
    return this.#held === undefined && this.#out?.open === true;
  }

  /** Whether another replica tells its client what happens. */
  get isFollowing(): boolean {
    return this.#held !== undefined;
  }

  /** Tells the client, now or when it comes back; false where it could not be kept for it. */
  send(message: string): boolean {
    if (this.#held) return this.#hold(this.#held, message);
    this.#spokeAt = performance.now();
    const id = this.#journal.add(message);
    this.#journal.keepLast(MAX_KEPT);
    if (this.#out?.send(message, id)) this.#sent = this.#journal.last;
    this.#wake();
    return true;
  }

  /** Where the events go on behind one that the client has; `undefined` where that is not known. */
  placeOf(eventId: string | undefined): number | undefined {
    if (eventId === undefined) return this.#sent;
    if (eventId === this.from) return 0;
    const found = this.#journals.find(this.#session, eventId);
    return found?.journal === this.#journal ? found.seq : undefined;
  }

  /** Goes on with another connection; false where events behind the one with this number are gone. */
  attach(out: EventStream, seq: number): boolean {
    this.#reader?.abort();
    this.#out?.end();
    this.#out = out;
    this.#mark(out, seq === 0 ? undefined : `${this.#journal.stream}.${seq}`);
    const isWhole = !this.#journal.misses(seq);
    for (const { id, pieces } of this.#journal.after(seq)) out.push(pieces.join(""), id);
    this.#sent = this.#journal.last;
    return isWhole;
  }

  /** Leaves its connection, which is told nothing more. */
  leave(): EventStream | undefined {
    const out = this.#out;
    this.#out = undefined;
    return out;
  }

  /** The connection is gone. */
  detach(out: EventStream): void {
    if (this.#out === out) this.#out = undefined;
  }

  /** Says where a client stands to which nothing is to be told: some forget it with their connection. */
  #mark(out: EventStream, eventId: string | undefined): void {
    const { first } = this.#journal;
    if (first !== undefined) out.push("", eventId ?? first);
  }

  /** Begins to show what another replica tells. */
  follow(out: EventStream, eventId: string | undefined): void {
    if (eventId !== undefined) this.#mark(out, eventId);
  }

  /** Shows what another replica tells; a client that has left too much unread is cut off. */
  show(out: EventStream, [first, ...others]: NonNullable<StreamPart>): void {
    if (!first || !out.send(first.message, first.id)) return;
    // What was kept for it comes at once, as in `attach`.
    for (const { id, message } of others) out.push(message, id);
    this.from = others.at(-1)?.id ?? first.id;
  }

  /**
   * Tells from now on. What came here in the last moments the other replica has not heard of yet.
   *
   * @param from id of the last event that the client has
   * @returns whether nothing was lost
   */
  begin(out: EventStream, from: string | undefined): boolean {
    const held = this.#held ?? [];
    const since = performance.now() - LAG_MS;
    this.#held = undefined;
    this.from ??= from;
    this.attach(out, 0);
    for (const { at, message } of held) if (at >= since) this.send(message);
    return this.#droppedAt < since;
  }

  /** Begins to tell a client that reads at another replica; see {@link handOver}. */
  lend(): AbortController {
    this.#out?.end();
    this.#out = undefined;
    this.#reader?.abort();
    this.#spokeAt = performance.now();
    return (this.#reader = new AbortController());
  }

  /**
   * What follows the event with a number, for another replica. Ends when that one may continue on its own.
   *
   * @param reader of {@link lend}
   * @throws {GatewayError} `cancelled` when another reader takes its place
   */
  async *handOver(
    reader: AbortController,
    seq: number,
    signal: AbortSignal,
  ): AsyncIterable<StreamPart> {
    const gone = AbortSignal.any([signal, reader.signal]);
    try {
      for (let at = seq; !gone.aborted;) {
        const [part, last] = [this.#partAfter(at), this.#journal.last];
        if (this.#journal.misses(at)) yield null;
        at = this.#sent = last;
        if (part.length > 0) yield part;
        const rest = this.#spokeAt + QUIET_MS - performance.now();
        if (rest <= 0) return;
        // One that was cut off must not take the call that wakes its successor.
        if (this.#journal.last === at && !gone.aborted) await this.#next(gone, rest);
      }
      throw TAKEN;
    } finally {
      if (this.#reader === reader) this.#reader = undefined;
    }
  }

  /** Its client reads no more here, and does not come back to this. */
  end(): void {
    this.#ended.abort();
    this.#reader?.abort();
    this.#out?.end();
    this.#journals.forget(this.#session, this.#journal);
  }

  // The journal's own way to read on is by a response; this stream is read on by `attach`.
  resume(): void {}

  #hold(held: Held[], message: string): true {
    const at = performance.now();
    held.push({ at, message });
    this.#heldSize += message.length;
    while (held[0] && held[0].at < at - LAG_MS) this.#heldSize -= held.shift()!.message.length;
    while (held.length > MAX_HELD || this.#heldSize > MAX_HELD_SIZE) {
      const dropped = held.shift()!;
      this.#heldSize -= dropped.message.length;
      this.#droppedAt = dropped.at;
    }
    return true;
  }

  #partAfter(seq: number): NonNullable<StreamPart> {
    const events = this.#journal.after(seq);
    return events.map(({ id, pieces }) => ({ id, message: pieces.join("") }));
  }

  /** Waits for the next message, in milliseconds at most. */
  #next(signal: AbortSignal, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimer(() => end(), ms);
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      this.#wake = end;
      signal.addEventListener("abort", end);
      if (signal.aborted) end();
    });
  }
}

const TAKEN = new GatewayError("cancelled", "The client reads this stream at another replica.");

/** What the client of a session asked for. */
interface Reader {
  readonly subscriptions?: ReadonlySet<string> | undefined;
  /** As index of SEVERITIES; -1: none. */
  readonly logLevel: number;
}

/** Tells a client what it may have missed, as far as it can find out: each resource that it watches, and that log lines may be gone. */
export function tellGap(session: Reader, send: (message: string) => void): void {
  for (const uri of session.subscriptions ?? [])
    send(notification("notifications/resources/updated", { uri }));
  if (session.logLevel < 0) return;
  const data = "Messages may be missing: this stream was away for a time.";
  send(notification("notifications/message", { level: "warning", logger: "propylon", data }));
}
