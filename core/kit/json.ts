import type { Json } from "./types.ts";
import { isAscii, isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import { GatewayError } from "./errors.ts";
import { parseFew, TooManyNumbers } from "./exact-json.ts";
import { ExactNumber } from "./exact-number.ts";

/**
 * Whether a value is a JSON object (not an array, and not an {@link ExactNumber}).
 *
 * @example const id = isObject(data) && typeof data["id"] === "string" ? data["id"] : undefined;
 */
export function isObject(value: unknown): value is Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return !(value instanceof ExactNumber);
}

/** Whether a value is an object literal, i.e. neither an array nor an instance of a class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * A value of a stranger's JSON as text; `""` where there is none. `String()` of `{ "toString": 1 }` throws.
 *
 * @example const link = `[Resource ${scalarText(block["uri"])}]`;
 */
export function scalarText(value: unknown): string {
  const hasText = ["string", "number", "boolean", "bigint"].includes(typeof value);
  return hasText || value instanceof ExactNumber
    ? `${value as string | number | boolean | bigint}`
    : "";
}

/**
 * {@link parseExact} for bytes that somebody else chose: `undefined` for a text that would hold the event loop, with too many keys,
 * lists or texts in it, or more than 50,000 numbers that JavaScript would change, and for one that nests too deep. 4 MB may hold
 * 400,000 keys, whose parsing alone takes half a second.
 *
 * @param body the bytes of the text
 * @param maxDepth deepest accepted nesting of arrays and objects; default: any
 * @throws {SyntaxError} for invalid JSON
 *
 * @example const message = parseBounded(body, 64) ?? refuse();
 */
export function parseBounded(body: Buffer, maxDepth?: number): unknown {
  if (isMuchWork(body)) return undefined;
  const text = body.toString("utf8");
  if (maxDepth !== undefined && nestsDeeper(text, body, maxDepth)) return undefined;
  try {
    return parseFew(text);
  } catch (error) {
    if (error instanceof TooManyNumbers) return undefined;
    throw error;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COLON = 0x3a;
const COMMA = 0x2c;

/** What is too small to be much work, in bytes: nearly all there is. */
const SMALL = 64 * 1024;
/**
 * What the parts of a text cost V8 to parse, in tenths of a microsecond. A key that is met for the first time is by far the
 * dearest: each is interned, and makes a new hidden class or an entry of a dictionary.
 */
const COST = { key: 25, container: 5, text: 3, value: 1 } as const;
/** About 100 ms: 40,000 different keys, 200,000 lists and maps, 300,000 texts, or 1,000,000 numbers. */
const MOST = 1_000_000;
/** Bits of the filter that tells whether a key was met before. */
const FILTER = 1 << 17;
/** Nobody can choose keys that are alike to the filter. */
const SEED = randomBytes(4).readInt32LE();

/** Why {@link parseJson} refused a body; in `data.reason` of its error. */
type JsonFault = "empty" | "encoding" | "depth" | "work" | "syntax" | "number";

/**
 * Parses a request body. `__proto__` and `constructor` stay ordinary own members, the last of duplicate keys wins,
 * and a byte order mark is ignored (RFC 8259 section 8.1). A number that JavaScript would change is an {@link ExactNumber};
 * more than 50,000 of them are refused.
 *
 * @param body the bytes of the body
 * @param maxDepth deepest accepted nesting of arrays and objects
 * @throws {GatewayError} `bad_request`, with a {@link JsonFault} as `data.reason`; nothing else
 *
 * @example const card = parseJson(body, 64);
 */
export function parseJson(body: Buffer, maxDepth: number): unknown {
  const text = decode(body);
  // Before parsing, because what walks the value later (JSON.stringify, schema checks) recurses and would overflow the stack.
  if (nestsDeeper(text, body, maxDepth)) {
    throw refusal("depth", `The request body nests deeper than ${maxDepth} levels.`);
  }
  if (isMuchWork(body))
    throw refusal("work", "The request body has too many keys, lists or texts in it.");
  if (text.trimStart() === "")
    throw refusal("empty", "The request body is empty; a JSON value was expected.");
  try {
    return parseFew(text);
  } catch (error) {
    if (error instanceof TooManyNumbers) throw refusal("number", error.message);
    throw refusal("syntax", `The request body is not valid JSON${placeOf(error)}.`);
  }
}

/** Told by a search for brackets where there are few, as usual. @param body the bytes of the text */
function nestsDeeper(text: string, body: Buffer, maxDepth: number): boolean {
  return hasBrackets(text, maxDepth) && !isWithinDepth(body, maxDepth);
}

function decode(body: Buffer): string {
  // Plain ASCII, the usual case, decodes as a memory copy.
  if (isAscii(body)) return body.toString("latin1");
  if (!isUtf8(body)) throw refusal("encoding", "The request body is not valid UTF-8.");
  return body.toString("utf8", hasByteOrderMark(body) ? 3 : 0);
}

function hasByteOrderMark(body: Buffer): boolean {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

/**
 * Whether a JSON text has more than so many opening brackets, in strings too: most have too few to be deep.
 *
 * @example if (hasBrackets(text, 64) && !isWithinDepth(bytes, 64)) throw new GatewayError("invalid", "It nests too deep.");
 */
export function hasBrackets(text: string, max: number): boolean {
  let left = max;
  for (const bracket of "{[")
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1))
      if (--left < 0) return true;
  return false;
}

/**
 * Whether a JSON text nests no deeper than so many levels, told without parsing it: what walks a deeper value later, such as
 * `JSON.stringify`, overflows the stack. Counts brackets outside strings; of what is not JSON, the parser thinks the rest.
 *
 * @param body the bytes of the text
 * @param maxDepth deepest accepted nesting of arrays and objects
 *
 * @example if (!isWithinDepth(body, 64)) throw new GatewayError("invalid", "It has more than 64 levels.");
 */
export function isWithinDepth(body: Buffer, maxDepth: number): boolean {
  // Each level takes an opening and a closing byte: most requests are too short to be deep.
  if (body.length <= maxDepth * 2) return true;
  let depth = 0;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (byte === QUOTE) at = endOfString(body, at + 1);
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (++depth > maxDepth) return false;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
  }
  return true;
}

/** Offset of the closing quote; multi-byte characters have no byte below 0x80, so no quote hides in one. */
function endOfString(body: Buffer, from: number): number {
  let at = from;
  for (; at < body.length; at++) {
    const byte = body[at];
    if (byte === BACKSLASH) at++;
    else if (byte === QUOTE) break;
  }
  return at;
}

/** Takes only the position out of the engine's message: the rest of it quotes the body. */
function placeOf(error: unknown): string {
  if (!(error instanceof SyntaxError)) return "";
  if (error.message.includes("end of JSON input")) return ": it ends too early";
  const position = /position (\d+)/.exec(error.message);
  return position ? ` at character ${Number(position[1]) + 1}` : "";
}

function refusal(reason: JsonFault, message: string): GatewayError {
  return new GatewayError("bad_request", message, { data: { reason } });
}

/**
 * Whether a JSON text would take the parser too long, told without parsing it: 4 MB may hold 400,000 different keys, whose parsing
 * alone holds the event loop for half a second. Of what is not JSON, the parser thinks the rest.
 *
 * @param body the bytes of the text
 */
export function isMuchWork(body: Uint8Array): boolean {
  return body.length > SMALL && new Work().isMuch(body);
}

class Work {
  readonly #met = new Uint8Array(FILTER / 8);
  /** Of the string read last. */
  #hash = 0;
  #sum = 0;

  isMuch(body: Uint8Array): boolean {
    for (let at = 0; at < body.length && this.#sum <= MOST; at++) {
      const byte = body[at];
      if (byte === QUOTE) at = this.#readText(body, at + 1);
      else if (byte === COMMA) this.#sum += COST.value;
      else if (byte === COLON) this.#addKey();
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#sum += COST.container;
    }
    return this.#sum > MOST;
  }

  /** Where its closing quote is; multi-byte characters have no byte below 0x80, so no quote hides in one. */
  #readText(body: Uint8Array, from: number): number {
    let hash = SEED;
    let at = from;
    for (; at < body.length; at++) {
      const byte = body[at]!;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) at++;
      hash = Math.imul(hash ^ byte, 0x01000193);
    }
    this.#hash = hash;
    this.#sum += COST.text;
    return at;
  }

  /** The text before was a key, whose cost lies in meeting it for the first time. */
  #addKey(): void {
    this.#sum += COST.value - COST.text;
    const mixed = Math.imul(this.#hash ^ (this.#hash >>> 15), 0x2c1b3c6d);
    const bit = (mixed ^ (mixed >>> 12)) & (FILTER - 1);
    const mask = 1 << (bit & 7);
    if (this.#met[bit >> 3]! & mask) return;
    this.#met[bit >> 3]! |= mask;
    this.#sum += COST.key;
  }
}
