import { setImmediate } from "node:timers/promises";
import { isObject, setTimer, SSE_HEADERS, sseFrame, writeJson } from "propylon/kit";
import { Pieces, SseParser } from "propylon/internal";
import { MAX_CHARACTERS, readPiece } from "./piece.ts";
import { SaidFailure } from "./said-failure.ts";

/**
 * Reads one answer of an API in all the ways in which providers write it, and says it in the one way in which every package for the
 * API reads it. What makes providers different is mended here: a rule that is elsewhere counts for one form alone.
 */
export interface AnswerReader {
  /** Whether the provider said that nothing follows. */
  readonly isOver: boolean;
  /**
   * Takes a piece of an answer.
   * @param name of the event; `undefined` when the piece is the whole answer
   * @returns events for the package
   */
  take(piece: unknown, name: string | undefined): readonly unknown[];
  /** @param isComplete whether the answer came to its end, and not only its connection */
  end(isComplete: boolean): readonly unknown[];
}

type Fetch = typeof globalThis.fetch;

/**
 * Largest event, and largest answer that comes whole, in bytes: each is read without a break, and 60 MB of text take a second. All of
 * a stream is bounded by the connection.
 */
const MAX_PIECE = 4 * 1_024 * 1_024;
const TOO_LARGE = `An event of the answer, or an answer that is not streamed, is larger than ${MAX_PIECE} bytes.`;

const tooLong = (): string =>
  `The model said more than ${MAX_CHARACTERS.toLocaleString("en")} characters in one answer.`;

/** Events are handed on in slices of so many characters. */
const SLICE = 16 * 1_024;

/** Longest work before others have their turn, in milliseconds. What has come in already would be read in one go. */
const TURN_MS = 10;

/** How long a connection may stay open behind an answer, in milliseconds. One that ends on its own is used again. */
const GRACE = 1_000;

/** What no package takes for a piece of an answer. */
const UNREADABLE = null;

/** Answers of a provider as plain event streams. @param open makes the reader of an answer, of the body of its request */
export function readAnswers(fetch: Fetch, open: (request: unknown) => AnswerReader): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.ok || response.body === null) return response;
    const body = new ReadableStream(new AnswerBody(response.body.getReader(), open(init?.body)));
    return new Response(body, { status: response.status, headers: SSE_HEADERS });
  };
}

/** The source of a stream. */
class AnswerBody {
  readonly #source: ReadableStreamDefaultReader<Uint8Array>;
  readonly #answer: AnswerReader;
  readonly #parser: SseParser;
  /** `undefined` until the first character shows it: content types are wrong or missing too often. */
  #form: "whole" | "events" | undefined;
  /** Of a whole answer; not its chunks, which may have one byte each. */
  readonly #bytes = new Pieces();
  /** Events that the package has yet to read. */
  #frames: string[] = [];
  #characters = 0;
  #isOver = false;
  /** When others had their turn. */
  #turn = performance.now();

  constructor(source: ReadableStreamDefaultReader<Uint8Array>, answer: AnswerReader) {
    this.#source = source;
    this.#answer = answer;
    this.#parser = new SseParser(
      {
        event: (data, _length, name) => this.#event(Buffer.concat(data), name),
        overflow: () => this.#refuse(),
      },
      MAX_PIECE,
    );
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    await this.#rest();
    while (this.#frames.length === 0 && !this.#isOver) {
      const { done, value } = await this.#source.read();
      if (done) this.#close();
      else this.#take(Buffer.from(value.buffer, value.byteOffset, value.length));
      await this.#rest();
    }
    if (this.#frames.length > 0) controller.enqueue(this.#nextSlice());
    if (!this.#isOver || this.#frames.length > 0) return;
    controller.close();
    void leave(this.#source);
  }

  /** One piece of an answer may make thousands of events, which the package reads in one go. */
  #nextSlice(): Buffer {
    let count = 0;
    for (let length = 0; count < this.#frames.length && length < SLICE; count++)
      length += this.#frames[count]!.length;
    return Buffer.from(this.#frames.splice(0, count).join(""));
  }

  /** Lets others have their turn, where it is time. */
  async #rest(): Promise<void> {
    if (performance.now() - this.#turn <= TURN_MS) return;
    await setImmediate();
    this.#turn = performance.now();
  }

  cancel(reason: unknown): Promise<void> {
    return this.#source.cancel(reason);
  }

  #take(chunk: Buffer): void {
    const bytes = this.#form === undefined ? skipBlanks(chunk) : chunk;
    if (bytes.length === 0) return;
    this.#form ??= "{[<".includes(String.fromCharCode(bytes[0]!)) ? "whole" : "events";
    if (this.#form === "events") return this.#parser.push(bytes);
    this.#bytes.add(bytes);
    if (this.#bytes.length > MAX_PIECE) this.#refuse();
  }

  /** The connection ended. */
  #close(): void {
    if (this.#form === "whole") return this.#takeWhole(Buffer.concat(this.#bytes.take()));
    // Not every server writes the empty line behind its last event.
    this.#parser.push(Buffer.from("\n\n"));
    this.#end(false);
  }

  #takeWhole(bytes: Buffer): void {
    const piece = readPiece(bytes);
    if (piece !== undefined) {
      this.#say(this.#answer.take(piece, undefined));
      this.#end(true);
    } else if (/[}\]>]\s*$/.test(bytes.subarray(-64).toString())) this.#fail();
    else this.#end(false);
  }

  #event(data: Buffer, name: string): void {
    const text = data.toString("utf8", 0, 64).trim();
    if (this.#isOver || (text === "" && data.length < 64)) return;
    if (text === "[DONE]") return this.#end(true);
    const piece = readPiece(data);
    if (piece === undefined) return this.#fail();
    this.#say(this.#answer.take(piece, name));
    if (this.#answer.isOver) this.#end(true);
  }

  #end(isComplete: boolean): void {
    if (this.#isOver) return;
    this.#say(this.#answer.end(isComplete));
    this.#isOver = true;
  }

  #refuse(): void {
    this.#say(this.#answer.take({ error: TOO_LARGE }, ""));
    this.#isOver = true;
  }

  #fail(): void {
    this.#say(this.#answer.take(UNREADABLE, ""));
    this.#isOver = true;
  }

  #say(events: readonly unknown[]): void {
    for (const event of events) {
      if (this.#isOver) return;
      this.#characters += lengthOf(event);
      const said = this.#characters > MAX_CHARACTERS ? new SaidFailure(tooLong()) : event;
      this.#frames.push(sseFrame(writeJson(said)));
      this.#isOver = said instanceof SaidFailure || !isObject(said);
    }
  }
}

/** Lets a connection end on its own, and cuts off one that does not. */
async function leave(source: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimer(() => void source.cancel().catch(ignore), GRACE);
  try {
    if (!(await source.read()).done) await source.cancel();
  } catch {
    // Whatever happens behind the answer, the answer is complete.
  } finally {
    clearTimeout(timer);
  }
}

function ignore(): void {}

/** Without blanks and a byte order mark at the beginning. */
function skipBlanks(chunk: Buffer): Buffer {
  const start = chunk.findIndex((byte) => byte > 0x20 && ![0xef, 0xbb, 0xbf].includes(byte));
  return start === -1 ? chunk.subarray(0, 0) : chunk.subarray(start);
}

/** Characters of all texts in an event. */
function lengthOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, each) => sum + lengthOf(each), 0);
}
