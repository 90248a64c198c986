import type { ServerResponse } from "node:http";
import { SSE_HEADERS, sseFrame, writeJson } from "propylon/kit";
import {
  cutSoon,
  InFlightSet,
  type RpcId,
  type Slotted,
  SSE_KEEP_ALIVE,
  sseHead,
} from "propylon/internal";
import type { Fault } from "./protocol.ts";

/** A JSON-RPC message ready to be written. */
export type Pieces = readonly (string | Buffer)[];

/**
 * A JSON message as it can stand in an event: CR and LF, which in JSON stand only between tokens, become spaces. Servers may
 * send them raw, and in an event they would end it and begin one of the server's own making. Buffers are changed in place.
 */
export function blankLineBreaks(pieces: Pieces): Pieces {
  return pieces.map((piece) => (typeof piece === "string" ? blankText(piece) : blankBytes(piece)));
}

function blankText(text: string): string {
  return text.includes("\n") || text.includes("\r") ? text.replaceAll(/[\r\n]/g, " ") : text;
}

function blankBytes(bytes: Buffer): Buffer {
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) bytes[at] = 32;
  for (let at = bytes.indexOf(13); at !== -1; at = bytes.indexOf(13, at + 1)) bytes[at] = 32;
  return bytes;
}

/** A JSON-RPC error response. */
export function faultPieces(
  { code, message, data }: Omit<Fault, "status">,
  id: RpcId | null,
): Pieces {
  return [
    writeJson({
      jsonrpc: "2.0",
      id,
      error: data === undefined ? { code, message } : { code, message, data },
    }),
  ];
}

/** Size of a body in pieces. */
export function bytesOf(pieces: readonly (string | Buffer)[]): number {
  let bytes = 0;
  for (const piece of pieces)
    bytes += typeof piece === "string" ? Buffer.byteLength(piece) : piece.length;
  return bytes;
}

/** Balancers end what is silent for 30 seconds; a call shows life with its second beat, at most 20 seconds after it came. */
const BEAT_MS = 10_000;

const STREAM_HEAD: readonly string[] = Object.entries(SSE_HEADERS).flat();

/** Up to this many bytes one write of a copy is cheaper than several writes without one. */
const JOIN_LIMIT = 16 * 1024;

/** How event streams behave; the same for all of an endpoint. */
export interface StreamSettings {
  readonly pulse: KeepAlive;
  /** Unsent bytes at which a stream is closed. */
  readonly queue: number;
  /** Called when a reader was too slow, with the bytes it left unread. */
  readonly onOverflow: (bytes: number) => void;
}

/**
 * Server-sent events on a Node response. Only JSON goes into `data`, without line breaks between its tokens, so one
 * message is always one event.
 */
export class EventStream implements KeptAlive {
  slot = -1;
  /** Written at the end of this turn. */
  #frames = "";
  readonly #res: ServerResponse;
  readonly #settings: StreamSettings;

  constructor(res: ServerResponse, settings: StreamSettings) {
    this.#res = res;
    this.#settings = settings;
    res.writeHead(200, STREAM_HEAD as string[]);
    settings.pulse.add(this);
    res.once("close", () => settings.pulse.delete(this));
  }

  /** Whether the client is still there. */
  get open(): boolean {
    return !this.#res.writableEnded && !this.#res.destroyed;
  }

  /**
   * Sends one message; false when the stream is closed, also by this call: a slow reader may not cost unbounded memory.
   * What waits is at most the queue and one message.
   *
   * @param id of the event, for a stream that can be resumed
   */
  send(message: string, id?: string): boolean {
    if (!this.open) return false;
    if (this.full) {
      this.#settings.onOverflow(this.#res.writableLength);
      this.#res.destroy();
      return false;
    }
    this.push(message, id);
    return true;
  }

  /** Sends one message, whatever waits. Messages of one turn go out in one write: a burst comes many to a chunk. */
  push(message: string, id?: string): void {
    if (!this.open) return;
    if (this.#frames === "") process.nextTick(this.#flush);
    this.#frames += sseFrame(message, "message", id);
    if (this.#frames.length > JOIN_LIMIT) this.#flush();
  }

  /** Whether so much is unsent that {@link send} would close the stream. */
  get full(): boolean {
    return this.#res.writableLength + this.#frames.length > this.#settings.queue;
  }

  /** Whether the client reads more slowly than it is sent to. */
  get congested(): boolean {
    return this.#res.writableNeedDrain;
  }

  /** Calls back once when everything unsent is out, or the client is gone. */
  whenClear(resume: () => void): void {
    const once = (): void => {
      this.#res.off("drain", once).off("close", once);
      resume();
    };
    this.#res.on("drain", once).on("close", once);
  }

  /** Ends the stream for a reader who may read no more: what is unsent has a moment to leave. */
  cut(pieces?: readonly (string | Buffer)[]): void {
    if (!this.open) return;
    this.end(pieces);
    cutSoon(this.#res);
  }

  /** Sends a last message in pieces, whatever its size, and ends the stream. */
  end(pieces?: readonly (string | Buffer)[], id?: string): void {
    this.#settings.pulse.delete(this);
    if (!this.open) return;
    this.#flush();
    if (pieces === undefined) this.#res.end();
    else {
      const all = [sseHead("message", id), ...blankLineBreaks(pieces), "\n\n"];
      endWith(this.#res, all, bytesOf(all));
    }
  }

  readonly #flush = (): void => {
    const frames = this.#frames;
    this.#frames = "";
    if (frames !== "" && this.open) this.#res.write(frames);
  };

  pulse(): void {
    // A full queue shows that nobody reads; the comment would only add to it.
    if (this.open && !this.#res.writableNeedDrain) this.#res.write(SSE_KEEP_ALIVE);
  }
}

/**
 * Ends a response with a body in pieces.
 * @param bytes their size
 */
export function endWith(
  res: ServerResponse,
  pieces: readonly (string | Buffer)[],
  bytes: number,
): void {
  if (bytes > JOIN_LIMIT) return endLarge(res, pieces);
  // As text, Node sends head and body in one write; latin1 is one byte each, so a character cut in two stays whole.
  const [only] = pieces;
  if (pieces.length > 1 || typeof only !== "string") {
    res.end(pieces.map(toBinary).join(""), "latin1");
  } else {
    // As many bytes as characters is ASCII. For latin1 Node sets aside a third of the memory it needs for UTF-8.
    res.end(only, bytes === only.length ? "latin1" : "utf8");
  }
}

function toBinary(piece: string | Buffer): string {
  return (typeof piece === "string" ? Buffer.from(piece) : piece).toString("latin1");
}

function endLarge(res: ServerResponse, pieces: readonly (string | Buffer)[]): void {
  res.cork();
  for (const piece of pieces) res.write(piece);
  // Node 24 never ends a chunked response that is still corked.
  res.uncork();
  res.end();
}

/** Something that wants a sign of life now and then. */
export interface KeptAlive extends Slotted {
  pulse(): void;
}

/** One timer for all streams of an endpoint; runs only while there are any and never keeps the process alive. */
export class KeepAlive {
  readonly #members = new InFlightSet<KeptAlive>();
  #timer: NodeJS.Timeout | undefined;

  add(member: KeptAlive): void {
    this.#members.add(member);
    this.#timer ??= setInterval(() => this.#beat(), BEAT_MS).unref();
  }

  delete(member: KeptAlive): void {
    this.#members.delete(member);
  }

  #beat(): void {
    for (const member of this.#members) member.pulse();
    if (this.#members.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Stops the timer. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#members.clear();
  }
}
