import type { ServerResponse } from "node:http";
import type { RpcId } from "../types.ts";
import type { Fault } from "./protocol.ts";
import type { Pulsed } from "./pulse.ts";
import type { StreamSettings } from "./stream.ts";
import { bytesOf, endWith, EventStream } from "./stream.ts";

/** A JSON-RPC message ready to be written. */
export type Pieces = readonly (string | Buffer)[];

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

/** A reply on an HTTP response of its own: plain JSON, unless something had to be said before the response. */
export class HttpReply implements Reply, Pulsed {
  owner: ReplyOwner | undefined;
  seat = -1;
  readonly #res: ServerResponse;
  readonly #accepts: Accepts;
  readonly #settings: StreamSettings;
  #stream: EventStream | undefined;
  #done = false;
  #quiet = 0;
  /** The last replaceable message that found too much unread. */
  #latest: string | undefined;

  constructor(res: ServerResponse, accepts: Accepts, settings: StreamSettings) {
    this.#res = res;
    this.#accepts = accepts;
    this.#settings = settings;
    settings.pulse.add(this);
    res.on("close", () => this.#closed());
  }

  event(message: string, replaceable = false): boolean {
    const stream = this.#openStream();
    if (stream?.full) return replaceable && this.#keep(message, stream);
    return stream?.send(message) ?? false;
  }

  get congested(): boolean {
    return this.#stream?.congested ?? false;
  }

  whenClear(resume: () => void): void {
    if (this.#stream === undefined) resume();
    else this.#stream.whenClear(resume);
  }

  end(pieces: Pieces, status = 200, headers?: Readonly<Record<string, string>>): void {
    if (!this.#finish()) return;
    if (this.#stream === undefined && !this.#accepts.json && status === 200)
      this.#stream = new EventStream(this.#res, this.#settings);
    this.#sendLatest();
    if (this.#stream !== undefined) this.#stream.end(pieces);
    else sendJson(this.#res, status, pieces, headers);
  }

  drop(): void {
    if (!this.#finish()) return;
    if (this.#stream !== undefined) this.#stream.end();
    else this.#res.writeHead(202).end();
  }

  /** A long silent call becomes a stream, so that the connection shows life. */
  pulse(): void {
    if (this.#quiet++ > 0 && !this.#done) this.#openStream();
  }

  #keep(message: string, stream: EventStream): boolean {
    if (this.#latest === undefined) stream.whenClear(() => this.#sendLatest());
    this.#latest = message;
    return true;
  }

  #sendLatest(): void {
    const latest = this.#latest;
    this.#latest = undefined;
    if (latest !== undefined) this.#stream!.push(latest);
  }

  #openStream(): EventStream | undefined {
    if (this.#done || !this.#accepts.events || this.#res.destroyed) return undefined;
    if (this.#stream === undefined) {
      this.#settings.pulse.delete(this);
      this.#stream = new EventStream(this.#res, this.#settings);
    }
    return this.#stream;
  }

  #finish(): boolean {
    if (this.#done) return false;
    this.#done = true;
    this.#settings.pulse.delete(this);
    return !this.#res.destroyed;
  }

  #closed(): void {
    if (this.#done) return;
    this.#done = true;
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

/** A JSON-RPC error response. */
export function faultPieces(
  { code, message, data }: Omit<Fault, "status">,
  id: RpcId | null,
): Pieces {
  return [
    JSON.stringify({
      jsonrpc: "2.0",
      id,
      error: data === undefined ? { code, message } : { code, message, data },
    }),
  ];
}

/** A JSON-RPC result response. */
export function resultPieces(result: object, id: RpcId): Pieces {
  return [JSON.stringify({ jsonrpc: "2.0", id, result })];
}

/** A JSON-RPC notification. */
export function notification(method: string, params: object | undefined): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}
