import { bytesOf, faultPieces, type Pieces } from "./stream.ts";
import { RPC } from "./protocol.ts";
import type { ServerResponse } from "node:http";
import type { RpcId } from "propylon/internal";
import { decodeRequest, encodeRequest, EVENT_ID, OF_SESSION } from "./event-id.ts";

/** Kept bytes of one session, and of all sessions of an endpoint; the oldest events go first. */
const MAX_SESSION_BYTES = 1024 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;
/** Streams of one session that can be resumed; the oldest one goes first. */
const MAX_STREAMS = 100;
/** How long a stream that ended can still be resumed, in milliseconds. */
const TTL_MS = 60_000;

const NOT_KEPT = {
  code: RPC.server,
  message: "The answer was too large to be kept for a client that had lost its stream.",
};

/** A stream of another process. */
export interface LostStream {
  /** Of the request that it answered; `undefined` where that is not known. */
  readonly id: RpcId | undefined;
}

/** A reply whose client may read on over another connection. */
export interface ResumableReply {
  /** Sends the events after the one with this number. */
  resume(res: ServerResponse, seq: number): void;
}

/** What of a session's streams can be resumed. */
export interface Resumable {
  readonly journals: Map<string, Journal>;
  /** Streams so far. */
  count: number;
  /** Bytes kept for all of them. */
  bytes: number;
}

/** The session that streams belong to. */
export interface ResumableSession {
  /** Its protocol version. */
  readonly version: string;
  /** When it came from another process, in milliseconds since 1970; 0: it began in this one. */
  readonly restoredAt: number;
  resumable: Resumable | undefined;
}

interface Kept {
  readonly seq: number;
  readonly pieces: Pieces;
  readonly bytes: number;
}

/**
 * What was sent on the event stream of one call, so that its client can read on after a broken connection (2025-11-25,
 * "Resumability and Redelivery"). Event ids are `<stream>.<number>`, counted within the session; a stream is named by its own count
 * and the id of its request.
 */
export class Journal {
  readonly reply: ResumableReply;
  readonly stream: string;
  readonly #journals: Journals;
  readonly #session: ResumableSession;
  readonly #id: RpcId | null;
  #kept: Kept[] = [];
  #seq = 0;
  #ended = false;
  #cleared = false;

  constructor(
    parts: { reply: ResumableReply; session: ResumableSession; id: RpcId | null; stream: string },
    journals: Journals,
  ) {
    this.reply = parts.reply;
    this.stream = parts.stream;
    this.#session = parts.session;
    this.#id = parts.id;
    this.#journals = journals;
  }

  /** Whether the answer is in it. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Number of the last event. */
  get last(): number {
    return this.#seq;
  }

  /** Whether events after the one with this number are not kept any more. */
  misses(seq: number): boolean {
    return seq < this.#seq && (this.#kept[0]?.seq ?? Infinity) > seq + 1;
  }

  /** The id of the event that opens the stream, which has no message; `undefined` for a revision that does not know it. */
  get first(): string | undefined {
    return this.#session.version >= "2025-11-25" ? `${this.stream}.0` : undefined;
  }

  /** Keeps a message; returns the id of its event. */
  add(message: string): string {
    return this.#add([message]);
  }

  /** Keeps the answer, or says in its place that it could not be kept. */
  end(pieces: Pieces): string {
    this.#finish();
    const fits = bytesOf(pieces) <= MAX_SESSION_BYTES;
    return this.#add(fits ? pieces : faultPieces(NOT_KEPT, this.#id));
  }

  /** The call ended without an answer. */
  drop(): void {
    this.keepLast(0);
    this.#cleared = true;
    this.#finish();
  }

  /** Whether a client that has the event with this number has all that is to be had. */
  isOver(seq: number): boolean {
    return this.#ended && (this.#kept.length === 0 || seq >= this.#seq);
  }

  /** Events after the one with this number. */
  after(seq: number): readonly { readonly id: string; readonly pieces: Pieces }[] {
    return this.#kept
      .filter((kept) => kept.seq > seq)
      .map((kept) => ({ id: `${this.stream}.${kept.seq}`, pieces: kept.pieces }));
  }

  /** Makes room: the oldest event goes, the answer last. Returns its bytes, 0 when there is nothing left. */
  shrink(): number {
    if (this.#kept.length === 0) return 0;
    if (this.#ended && this.#kept.length === 1) return this.#replaceAnswer();
    return this.#kept.shift()!.bytes;
  }

  /** Lets the oldest events go, except for so many. */
  keepLast(count: number): void {
    while (this.#kept.length > count)
      this.#journals.grow(this.#session, -this.#kept.shift()!.bytes);
  }

  /** Lets go of everything; returns its bytes. */
  clear(): number {
    const bytes = this.#kept.reduce((sum, kept) => sum + kept.bytes, 0);
    this.#kept = [];
    this.#cleared = true;
    return bytes;
  }

  /** It can be resumed for a while. */
  #finish(): void {
    this.#ended = true;
    setTimeout(() => this.#journals.forget(this.#session, this), TTL_MS).unref();
  }

  #replaceAnswer(): number {
    const [answer] = this.#kept;
    const pieces = faultPieces(NOT_KEPT, this.#id);
    this.#kept = [{ seq: answer!.seq, pieces, bytes: 0 }];
    return answer!.bytes;
  }

  #add(pieces: Pieces): string {
    const seq = ++this.#seq;
    if (!this.#cleared) {
      const bytes = bytesOf(pieces);
      this.#kept.push({ seq, pieces, bytes });
      this.#journals.grow(this.#session, bytes);
    }
    return `${this.stream}.${seq}`;
  }
}

/** The streams of an endpoint that can be resumed: bounded per session and in all. */
export class Journals {
  /** What streams of this gateway begin with. */
  readonly #home: string;
  #bytes = 0;
  /** Sessions that have some, the one that had none for the longest first. */
  readonly #sessions = new Set<ResumableSession>();

  /** @param replica its id, where others may be asked for its streams */
  constructor(replica?: string) {
    this.#home = replica === undefined ? "" : `${replica}_`;
  }

  /** Bytes kept at the moment. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Begins to keep what is sent on a stream.
   * @param id of the request that it answers; absent for the stream of the session itself
   */
  begin(reply: ResumableReply, session: ResumableSession, id?: RpcId): Journal {
    // A session counts on from the time it was restored, so no stream is called as one of another process was.
    const count = session.restoredAt;
    const resumable = (session.resumable ??= { journals: new Map(), count, bytes: 0 });
    const about = id === undefined ? OF_SESSION : encodeRequest(id);
    const stream = `${this.#home}${(resumable.count++).toString(36)}${about}`;
    const journal = new Journal({ reply, session, id: id ?? null, stream }, this);
    resumable.journals.set(stream, journal);
    this.#sessions.add(session);
    if (resumable.journals.size > MAX_STREAMS) this.#forgetOldest(session, resumable);
    return journal;
  }

  /** The stream of an event id and the number of the event in it. */
  find(session: ResumableSession, eventId: string): { journal: Journal; seq: number } | undefined {
    const parts = EVENT_ID.exec(eventId);
    const journal = session.resumable?.journals.get(parts?.[1] ?? "");
    return journal && { journal, seq: Number(parts!.groups!["seq"]) };
  }

  /** The replica that keeps a stream; `undefined` for this one, and where there are no others. */
  replicaOf(eventId: string): string | undefined {
    const replica = EVENT_ID.exec(eventId)?.groups?.["replica"];
    return replica === undefined || replica === this.#home ? undefined : replica.slice(0, -1);
  }

  /** The request whose stream was lost with another process; `undefined` for one of this process, and for an invalid event id. */
  lost(session: ResumableSession, eventId: string): LostStream | undefined {
    const { replica, count, request } = EVENT_ID.exec(eventId)?.groups ?? {};
    if (count === undefined) return undefined;
    const isRemote = replica !== undefined && replica !== this.#home;
    if (!isRemote && Number.parseInt(count, 36) >= session.restoredAt) return undefined;
    return { id: request === undefined ? undefined : decodeRequest(request) };
  }

  /** A journal grew. */
  grow(session: ResumableSession, bytes: number): void {
    const { resumable } = session;
    if (!resumable) return;
    resumable.bytes += bytes;
    this.#bytes += bytes;
    while (resumable.bytes > MAX_SESSION_BYTES && this.#shrink(session));
    for (const other of this.#sessions) {
      while (this.#bytes > MAX_BYTES && this.#shrink(other));
      if (this.#bytes <= MAX_BYTES) return;
    }
  }

  /** A stream cannot be resumed any more. */
  forget(session: ResumableSession, journal: Journal): void {
    const { resumable } = session;
    if (!resumable?.journals.delete(journal.stream)) return;
    this.#count(session, journal.clear());
    if (resumable.journals.size === 0) this.#sessions.delete(session);
  }

  /** That of the session itself stays: it is as old as the session. */
  #forgetOldest(session: ResumableSession, { journals }: Resumable): void {
    for (const journal of journals.values())
      if (!journal.stream.endsWith(OF_SESSION)) return this.forget(session, journal);
  }

  /** The session ended. */
  drop(session: ResumableSession): void {
    for (const journal of session.resumable?.journals.values() ?? []) this.forget(session, journal);
  }

  #shrink(session: ResumableSession): boolean {
    for (const journal of session.resumable!.journals.values()) {
      const bytes = journal.shrink();
      if (bytes > 0) return this.#count(session, bytes);
    }
    return false;
  }

  #count(session: ResumableSession, bytes: number): true {
    session.resumable!.bytes -= bytes;
    this.#bytes -= bytes;
    return true;
  }
}
