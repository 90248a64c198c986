import {
  bytesOf,
  type Pieces,
  faultPieces,
  type StreamSettings,
  endWith,
  EventStream,
  type KeptAlive,
} from "./stream.ts";
import { writeJson, isObject } from "propylon/kit";
import type { ServerResponse } from "node:http";
import { type RpcId, type Era, type ResultEdit, contains } from "propylon/internal";
import type { Journal, Journals, ResumableSession } from "./journal.ts";
import { type Fault, META_PREFIX, META_SERVER_INFO, MODERN_META, RPC } from "./protocol.ts";
import type { Answer, CallMethod, Json } from "propylon";

/** The call of a session that a reply answers. */
export interface Answered {
  readonly session: ResumableSession;
  readonly id: RpcId;
  /** Keeps what is sent in answer to it. */
  readonly journals: Journals;
}

/** Who waits for a reply to be given; told when the client went away first. */
export interface ReplyOwner {
  gone(): void;
}

/** The way back to the client for one request. */
export interface Reply {
  owner: ReplyOwner | undefined;
  /**
   * Sends a message ahead of the response; false when the client takes none, is gone, or left too much unread.
   * @param replaceable a message that the next one of its kind supersedes: of those that find too much unread, the last one is kept
   */
  event(message: string, replaceable?: boolean): boolean;
  /** Whether the client reads more slowly than it is sent to. */
  readonly congested: boolean;
  /** Calls back once when that is over, or the client is gone. */
  whenClear(resume: () => void): void;
  /** Gives the response. The status counts only while nothing was sent yet. */
  end(pieces: Pieces, status?: number, headers?: Readonly<Record<string, string>>): void;
  /** Ends without a response (the request was cancelled). */
  drop(): void;
}

/** What a client can read, from its Accept header. */
export interface Accepts {
  readonly json: boolean;
  readonly events: boolean;
}

/**
 * Reads an Accept header. The specification asks clients to name both types; those in the wild that send none, or a
 * wildcard, are served all the same.
 */
export function readAccept(header: string | undefined): Accepts {
  if (header === undefined || header === "") return BOTH;
  const any = header.includes("*/*");
  const json = any || header.includes("application/json") || header.includes("application/*");
  const events = any || header.includes("text/event-stream") || header.includes("text/*");
  return json && events ? BOTH : { json, events };
}

const BOTH: Accepts = { json: true, events: true };

/**
 * A reply on an HTTP response of its own: plain JSON, unless something had to be said before the response. That of a call of a
 * session outlives a broken connection: its client may read on with another one, from the last event it has.
 */
export class HttpReply implements Reply, KeptAlive {
  owner: ReplyOwner | undefined;
  slot = -1;
  #res: ServerResponse;
  readonly #accepts: Accepts;
  readonly #settings: StreamSettings;
  readonly #answered: Answered | undefined;
  #stream: EventStream | undefined;
  #journal: Journal | undefined;
  #done = false;
  #quiet = 0;
  /** The last replaceable message that found too much unread. */
  #latest: string | undefined;

  /** @param answered for a reply that can be resumed */
  constructor(
    res: ServerResponse,
    accepts: Accepts,
    settings: StreamSettings,
    answered?: Answered,
  ) {
    this.#res = res;
    this.#accepts = accepts;
    this.#settings = settings;
    this.#answered = answered;
    settings.pulse.add(this);
    res.on("close", () => this.#closed(res));
  }

  event(message: string, replaceable = false): boolean {
    const stream = this.#openStream();
    if (stream?.full) return replaceable && this.#keep(message, stream);
    const id = this.#done ? undefined : this.#journal?.add(message);
    return stream?.send(message, id) ?? id !== undefined;
  }

  /** Goes on with another response, behind the event with this number. */
  resume(res: ServerResponse, seq: number): void {
    this.#res.destroy();
    this.#res = res;
    const stream = new EventStream(res, this.#settings);
    res.flushHeaders();
    res.on("close", () => this.#closed(res));
    const { ended } = this.#journal!;
    const events = this.#journal!.after(seq);
    for (const [index, { id, pieces }] of events.entries()) {
      if (ended && index === events.length - 1) return stream.end(pieces, id);
      stream.push(pieces.join(""), id);
    }
    if (ended) stream.end();
    else this.#stream = stream;
  }

  get congested(): boolean {
    return this.#stream?.congested ?? false;
  }

  whenClear(resume: () => void): void {
    if (this.#stream === undefined) resume();
    else this.#stream.whenClear(resume);
  }

  end(pieces: Pieces, status = 200, headers?: Readonly<Record<string, string>>): void {
    if (this.#done) return;
    this.#sendLatest();
    const id = this.#journal?.end(pieces);
    if (!this.#finish()) return;
    if (this.#stream === undefined && !this.#accepts.json && status === 200)
      this.#stream = new EventStream(this.#res, this.#settings);
    if (this.#stream !== undefined) this.#stream.end(pieces, id);
    else sendJson(this.#res, status, pieces, headers);
  }

  drop(): void {
    this.#journal?.drop();
    if (!this.#finish()) return;
    if (this.#stream !== undefined) this.#stream.end();
    else sendEmpty(this.#res, 202);
  }

  /** A long silent call becomes a stream, so that the connection shows life. */
  pulse(): void {
    if (this.#quiet++ === 0 || this.#stream !== undefined) return;
    const stream = this.#openStream();
    // An event with an id and nothing else, because there may be no message to resume from. Only here: some clients read every
    // event as JSON.
    const first = this.#journal?.first;
    if (first !== undefined) stream?.push("", first);
    // Without a byte the head would wait for the next message.
    stream?.pulse();
  }

  #keep(message: string, stream: EventStream): boolean {
    if (this.#latest === undefined) stream.whenClear(() => this.#sendLatest());
    this.#latest = message;
    return true;
  }

  #sendLatest(): void {
    const latest = this.#latest;
    this.#latest = undefined;
    if (latest !== undefined) this.#stream?.push(latest, this.#journal?.add(latest));
  }

  #openStream(): EventStream | undefined {
    if (this.#done || !this.#accepts.events || this.#res.destroyed) return undefined;
    if (this.#stream === undefined) {
      this.#settings.pulse.delete(this);
      this.#stream = new EventStream(this.#res, this.#settings);
      this.#beginJournal();
    }
    return this.#stream;
  }

  #beginJournal(): void {
    if (this.#answered === undefined || this.#journal !== undefined) return;
    const { session, id, journals } = this.#answered;
    this.#journal = journals.begin(this, session, id);
  }

  #finish(): boolean {
    if (this.#done) return false;
    this.#done = true;
    this.#settings.pulse.delete(this);
    return !this.#res.destroyed;
  }

  #closed(res: ServerResponse): void {
    // An earlier one, which another has taken over from.
    if (res !== this.#res || this.#done) return;
    this.#stream = undefined;
    this.#done = this.#journal === undefined;
    this.#settings.pulse.delete(this);
    this.owner?.gone();
  }
}

/** Writes a JSON response. */
export function sendJson(
  res: ServerResponse,
  status: number,
  pieces: Pieces,
  headers?: Readonly<Record<string, string>>,
): void {
  const length = bytesOf(pieces);
  const head: (string | number)[] = ["Content-Type", "application/json", "Content-Length", length];
  for (const name in headers) head.push(name, headers[name]!);
  res.writeHead(status, head as string[]);
  endWith(res, pieces, length);
}

/** Answers without a body. Its length is said, or Node would send an empty one in chunks; as a text it goes out with the head. */
export function sendEmpty(res: ServerResponse, status: number): void {
  res.writeHead(status, NO_BODY).end("", "latin1");
}

const NO_BODY = ["Content-Length", "0"];

/** Refuses a request before it became a call. */
export function sendFault(
  res: ServerResponse,
  fault: Fault,
  id: RpcId | null,
  headers?: Readonly<Record<string, string>>,
): void {
  if (!res.headersSent && !res.destroyed)
    sendJson(res, fault.status, faultPieces(fault, id), headers);
}

/** A JSON-RPC result response. */
export function resultPieces(result: object, id: RpcId): Pieces {
  return [writeJson({ jsonrpc: "2.0", id, result })];
}

/** A JSON-RPC notification. */
export function notification(method: string, params: object | undefined): string {
  return writeJson({ jsonrpc: "2.0", method, params });
}

/** Up to this many bytes parsing is as cheap as leaving an answer alone, and exact (performance.md). */
const SMALL = 8 * 1024;

/** What a 2026-07-28 result must carry besides the callee's own words. */
export interface ResultFrame {
  readonly method: CallMethod;
  /** Era of the callee, which is asked for a large answer; a local tool has none. */
  callee(): Era | undefined;
  readonly serverInfo: Json;
  /** Binds a server's `requestState` to whom it is given. */
  bind(state: string): string;
}

/** A response with the HTTP status it goes out with. */
export interface Encoded {
  readonly pieces: Pieces;
  readonly status: number;
}

/** Reads are cacheable results; without a word from the server they are neither fresh nor shared. */
const CACHE_HINTS = { ttlMs: 0, cacheScope: "private" };

/**
 * Encodes an answer for a modern client: `resultType`, cache hints, and the gateway in place of the server in `_meta`.
 * A large answer stays bytes where that cannot go wrong.
 */
export function encodeModern(answer: Answer, id: RpcId, frame: ResultFrame): Encoded {
  const hints = frame.method === "resources/read" ? CACHE_HINTS : undefined;
  const added = {
    resultType: "complete",
    ...hints,
    _meta: { [META_SERVER_INFO]: frame.serverInfo },
  };
  const large = answer.isRaw && (answer.rawSize ?? 0) > SMALL;
  const pieces = large ? encodeLarge(answer, id, added, frame.callee()) : undefined;
  return pieces === undefined ? encodeParsed(answer, id, added, frame) : { pieces, status: 200 };
}

/** A member of the same name would come twice, and readers disagree which one counts; then there is no short way. */
function encodeLarge(
  answer: Answer,
  id: RpcId,
  added: Json,
  callee: Era | undefined,
): Pieces | undefined {
  const pieces = answer.encode(id);
  if (contains(pieces, META_SERVER_INFO)) return undefined;
  // A state must be bound, and that needs a parsed answer.
  if (contains(pieces, '"requestState"')) return undefined;
  if (callee === "modern") return contains(pieces, '"resultType"') ? pieces : undefined;
  const clash = Object.keys(added).some((key) => contains(pieces, `"${key}"`));
  return clash ? undefined : answer.encode(id, added);
}

function encodeParsed(
  answer: Answer,
  id: RpcId,
  added: Json & { readonly _meta: Json },
  { bind }: Pick<ResultFrame, "bind">,
): Encoded {
  if (answer.isRpcError) {
    const error = answer.error!;
    const code = error.code === RPC.resourceNotFound ? RPC.invalidParams : error.code;
    const message = writeJson({ jsonrpc: "2.0", id, error: { ...error, code } });
    return { pieces: [message], status: code === RPC.missingCapability ? 400 : 200 };
  }
  const change = ({ _meta, requestState, ...own }: Json): Json => ({
    ...added,
    ...own,
    ...(typeof requestState === "string" && { requestState: bind(requestState) }),
    _meta: { ...(isObject(_meta) ? _meta : undefined), ...added._meta },
  });
  const names = [...Object.keys(added), "requestState"];
  return { pieces: answer.encodeEdited(id, { names, change }), status: 200 };
}

/**
 * Encodes an answer for a client of an older revision: without what only 2026-07-28 knows, which its server may have said.
 *
 * @param pieces the answer as it is
 */
export function encodeLegacy(answer: Answer, id: RpcId, pieces: Pieces): Pieces {
  const isModern = MODERN_WORDS.some((word) => contains(pieces, word));
  return isModern && !answer.isRpcError ? answer.encodeEdited(id, TO_LEGACY) : pieces;
}

/** What shows in the bytes of an answer that it may hold something of 2026-07-28. */
const MODERN_WORDS = ['"resultType"', `"${META_PREFIX}`];

const TO_LEGACY: ResultEdit = {
  names: ["resultType", "_meta"],
  change: ({ _meta }) => {
    const kept = withoutModernMeta(_meta);
    return kept === undefined ? {} : { _meta: kept };
  },
};

/** `_meta` without the keys of 2026-07-28; `undefined` when nothing else is in it. */
export function withoutModernMeta(meta: unknown): unknown {
  if (!isObject(meta)) return meta;
  const kept = Object.entries(meta).filter(([key]) => !MODERN_META.has(key));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
