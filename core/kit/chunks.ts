import { parseExact, writeJson } from "./exact-json.ts";
import { DEEPEST, type Member } from "./json-grammar.ts";
import { MOST_MEMBERS, scanJson } from "./json-scan.ts";
import type { Json } from "./types.ts";
import type { Readable } from "node:stream";

/** A piece below this, in bytes, is copied when another such one is its neighbour. */
const SMALL = 2_048;
const BLOCK = 16_384;

/**
 * What arrives in pieces, in their order. They are not copied, except for small ones behind each other: a sender of one byte at a
 * time would make a Buffer object of each, which costs a hundred times its content.
 *
 * @example
 * const body = new Pieces();
 * response.on("data", (chunk) => body.add(chunk));
 * response.on("end", () => read(body.take()));
 */
export class Pieces {
  #list: Buffer[] = [];
  #length = 0;
  #block: Buffer | undefined;
  #used = 0;

  /** Bytes in all. */
  get length(): number {
    return this.#length;
  }

  /** Takes the next one; nobody may write into it from now on. */
  add(piece: Buffer): void {
    this.#length += piece.length;
    const before = this.#block ?? this.#list.at(-1);
    const isCopied = piece.length < SMALL && before !== undefined;
    if (isCopied && before === this.#block) return this.#copy(piece);
    if (isCopied && before.length < SMALL) return this.#copy(this.#list.pop()!, piece);
    this.#seal();
    this.#list.push(piece);
  }

  /** Gives all of them away, and starts over. */
  take(): Buffer[] {
    this.#seal();
    const list = this.#list;
    this.#list = [];
    this.#length = 0;
    return list;
  }

  #copy(...pieces: readonly Buffer[]): void {
    for (const piece of pieces) {
      if (this.#used + piece.length > BLOCK) this.#seal();
      // Not of the pool, of which a part that is kept would keep the rest.
      this.#block ??= Buffer.allocUnsafeSlow(BLOCK);
      this.#used += piece.copy(this.#block, this.#used);
    }
  }

  /** Makes what was copied the next piece; a little of it does not keep the whole block. */
  #seal(): void {
    const bytes = this.#block?.subarray(0, this.#used);
    if (bytes !== undefined) this.#list.push(bytes.length < BLOCK / 2 ? Buffer.from(bytes) : bytes);
    this.#block = undefined;
    this.#used = 0;
  }
}

/** A span of bytes that came in pieces, not copied. */
function sliceOf(chunks: readonly Buffer[], start: number, end: number): Buffer[] {
  const parts: Buffer[] = [];
  let base = 0;
  for (const chunk of chunks) {
    if (base >= end) break;
    const part = chunk.subarray(Math.max(0, start - base), end - base);
    if (part.length > 0) parts.push(part);
    base += chunk.length;
  }
  return parts;
}

/**
 * The first bytes of a list of chunks, at most `count`.
 *
 * @example const isObject = firstBytes(chunks, 1)[0] === 0x7b;
 */
export function firstBytes(chunks: readonly Buffer[], count: number): Buffer {
  const first = chunks[0] ?? Buffer.alloc(0);
  if (first.length >= count || chunks.length < 2) return first.subarray(0, count);
  const parts: Buffer[] = [];
  let missing = count;
  for (let index = 0; missing > 0 && index < chunks.length; index++) {
    parts.push(chunks[index]!.subarray(0, missing));
    missing -= parts.at(-1)!.length;
  }
  return Buffer.concat(parts);
}

/**
 * The last bytes of a list of chunks, at most `count`, copied.
 *
 * @example const isClosed = lastBytes(chunks, 1)[0] === 0x7d;
 */
export function lastBytes(chunks: readonly Buffer[], count: number): Buffer {
  const parts: Buffer[] = [];
  let missing = count;
  for (let index = chunks.length - 1; missing > 0 && index >= 0; index--) {
    const chunk = chunks[index]!;
    parts.unshift(chunk.subarray(Math.max(0, chunk.length - missing)));
    missing -= parts[0]!.length;
  }
  return Buffer.concat(parts);
}

/**
 * Whether the bytes occur, also across the border of two or more chunks.
 *
 * @example const isFailure = includes(chunks, Buffer.from('"isError"'));
 */
export function includes(chunks: readonly Buffer[], bytes: Buffer): boolean {
  if (chunks.length === 1) return chunks[0]!.includes(bytes);
  let tail: Buffer = Buffer.alloc(0);
  for (const chunk of chunks) {
    if (chunk.includes(bytes)) return true;
    const seam = Buffer.concat([tail, chunk.subarray(0, bytes.length - 1)]);
    if (seam.includes(bytes)) return true;
    tail =
      chunk.length >= bytes.length - 1
        ? chunk.subarray(chunk.length - bytes.length + 1)
        : seam.subarray(-(bytes.length - 1));
  }
  return false;
}

/** One replaced span of a message. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Copies nothing: slices the chunks around the replaced spans. */
export function applyEdits(chunks: readonly Buffer[], edits: readonly Edit[]): (string | Buffer)[] {
  const out: (string | Buffer)[] = [];
  let offset = 0;
  let next = 0;
  for (const chunk of chunks) {
    let from = 0;
    const end = offset + chunk.length;
    for (let edit = edits[next]; edit && edit.start < end; edit = edits[next]) {
      if (edit.start >= offset + from) {
        out.push(chunk.subarray(from, edit.start - offset), edit.text);
      }
      from = Math.min(edit.end - offset, chunk.length);
      if (edit.end > end) break;
      next++;
    }
    // A span that started in an earlier chunk may end inside this one.
    if (from < chunk.length) out.push(from === 0 ? chunk : chunk.subarray(from));
    offset = end;
  }
  return out;
}

/**
 * How some members of a result object become others.
 *
 * @example const edit: ResultEdit = { names: ["_meta"], change: ({ _meta }) => ({ _meta: clean(_meta) }) };
 */
export interface ResultEdit {
  /** Names of the members that are taken out. */
  readonly names: readonly string[];
  /** What takes their place. */
  readonly change: (own: Json) => Json;
}

/** A result object with the edit made. */
export function editValue(result: Json, { names, change }: ResultEdit): Json {
  const own: Json = {};
  const others: Json = { ...result };
  for (const name of names) {
    if (!Object.hasOwn(others, name)) continue;
    own[name] = others[name];
    delete others[name];
  }
  return { ...change(own), ...others };
}

/**
 * The result object of a JSON-RPC message with the edit made in its bytes: only the members that are taken out are parsed, so that
 * the others stay as they were written, to the last digit.
 *
 * @returns `undefined` when it takes a parse: no result object, or one of very many members
 */
export function editBytes(
  message: readonly Buffer[],
  { names, change }: ResultEdit,
): (string | Buffer)[] | undefined {
  const place = scanJson(message, DEEPEST).members.find(({ name }) => name === "result");
  if (place === undefined) return undefined;
  const result = sliceOf(message, place.start, place.end);
  const { isObject, members } = scanJson(result, DEEPEST);
  if (!isObject || members.length === MOST_MEMBERS) return undefined;
  const own: Json = {};
  const kept: (string | Buffer)[] = [];
  for (const member of members) {
    const name = nameOf(result, member);
    if (names.includes(name)) own[name] = parse(sliceOf(result, member.start, member.end));
    else kept.push(",", ...sliceOf(result, member.key, member.end));
  }
  const first = writeJson(change(own)).slice(0, -1);
  return [first, ...(first === "{" ? kept.slice(1) : kept), "}"];
}

function nameOf(chunks: readonly Buffer[], { name, key, start }: Member): string {
  if (name !== undefined) return name;
  const text = Buffer.concat(sliceOf(chunks, key, start)).toString("utf8");
  return JSON.parse(text.slice(0, text.lastIndexOf(":"))) as string;
}

function parse(chunks: readonly Buffer[]): unknown {
  return parseExact(Buffer.concat(chunks).toString("utf8"));
}

/** Longest time that one stream may hold the event loop at once, in milliseconds. */
const TURN_MS = 10;
/** After so many bytes the clock is looked at: a chunk of 64 KiB may hold 32,000 lines. */
const SLICE = 16 * 1024;

/**
 * Takes the bytes of a stream in {@link Turns}.
 *
 * @param take reads bytes; it must not throw
 *
 * @example readInTurns(child.stdout, (bytes) => framer.push(bytes));
 */
export function readInTurns(stream: Readable, take: (bytes: Buffer) => void): Turns {
  return new Turns(stream, take);
}

/**
 * Reads a stream whose bytes somebody else chooses, in turns of the event loop: it is paused after 10 ms of work and goes on when
 * everybody else had their turn. The work of chunks that follow each other adds up: Node reads up to 32 of them from a socket before
 * it looks at another one, and frames of a few bytes make seconds of work of that (lines, chunks and events alike).
 *
 * @example
 * const turns = readInTurns(socket, (bytes) => parser.push(bytes));
 * peer.onSlow(() => turns.pause());
 */
export class Turns {
  readonly #stream: Readable;
  readonly #take: (bytes: Buffer) => void;
  #took = 0;
  #isHeld = false;
  #isWaiting = false;
  #rest = 0;

  /** @param take reads bytes; it must not throw */
  constructor(stream: Readable, take: (bytes: Buffer) => void) {
    this.#stream = stream;
    this.#take = take;
    stream.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Bytes that have come and were not taken yet. */
  get unread(): number {
    return this.#rest + this.#stream.readableLength;
  }

  /** Reads no further for now. */
  pause(): void {
    this.#isHeld = true;
    this.#stream.pause();
  }

  /** Undoes {@link pause}. */
  resume(): void {
    this.#isHeld = false;
    if (!this.#isWaiting) this.#stream.resume();
  }

  #read(chunk: Buffer): void {
    let at = 0;
    do {
      const began = performance.now();
      const end = Math.min(at + SLICE, chunk.length);
      this.#rest = chunk.length - end;
      this.#take(end === chunk.length && at === 0 ? chunk : chunk.subarray(at, end));
      at = end;
      this.#took += performance.now() - began;
      if (this.#took >= TURN_MS) this.#wait();
    } while (at < chunk.length && !this.#isWaiting && !this.#isHeld && !this.#stream.destroyed);
    this.#rest = 0;
    if (at === chunk.length || this.#stream.destroyed) return;
    this.#stream.pause();
    this.#stream.unshift(chunk.subarray(at));
  }

  #wait(): void {
    this.#took = 0;
    this.#isWaiting = true;
    this.#stream.pause();
    setImmediate(() => {
      this.#isWaiting = false;
      if (!this.#isHeld) this.#stream.resume();
    });
  }
}
