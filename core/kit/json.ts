import type { Json } from "../call/types.ts";
import { isAscii, isUtf8 } from "node:buffer";
import { GatewayError } from "../errors.ts";
import { parseSuspect, TooManyNumbers } from "./exact-json.ts";
import { ExactNumber, withNumbers, writing } from "./exact-number.ts";
import { isMuchWork } from "./json-work.ts";

/**
 * Whether a value is a JSON object (not an array, and not an {@link ExactNumber}).
 *
 * @example const id = isObject(data) && typeof data["id"] === "string" ? data["id"] : undefined;
 */
export function isObject(value: unknown): value is Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return !(value instanceof ExactNumber);
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
 * How a number looks that may be changed by being read: it has 16 digits, or an exponent of three. Tested before anything else, since
 * hardly any text holds one; one in a string costs no more than a second look.
 */
const SUSPECT = /\d[\d.]{15}|\d[eE][+-]?\d{3}/;

/**
 * The value of a JSON text. Each number that JavaScript would change, such as an identifier of 64 bits, is an {@link ExactNumber};
 * behind the first 50,000 of them, a text of its digits.
 *
 * @throws {SyntaxError} for invalid JSON
 *
 * @example parseExact('{"id":1234567890123456789,"n":5}'); // { id: ExactNumber, n: 5 }
 */
export function parseExact(text: string): unknown {
  return SUSPECT.test(text) ? parseSuspect(text, false) : (JSON.parse(text) as unknown);
}

/**
 * {@link parseExact} for bytes that somebody else chose: `undefined` for a text that would hold the event loop, with too many keys,
 * lists or texts in it, or more than 50,000 numbers that JavaScript would change. 4 MB may hold 400,000 keys, whose parsing alone
 * takes half a second.
 *
 * @param body the bytes of the text
 * @throws {SyntaxError} for invalid JSON
 *
 * @example const message = parseBounded(body) ?? refuse();
 */
export function parseBounded(body: Buffer): unknown {
  if (isMuchWork(body)) return undefined;
  try {
    return parseFew(body.toString("utf8"));
  } catch (error) {
    if (error instanceof TooManyNumbers) return undefined;
    throw error;
  }
}

/** @throws {TooManyNumbers} */
function parseFew(text: string): unknown {
  return SUSPECT.test(text) ? parseSuspect(text, true) : (JSON.parse(text) as unknown);
}

/**
 * A value as JSON, each {@link ExactNumber} with the digits that it came with. What holds none costs no more than `JSON.stringify`.
 *
 * @param indent blanks of each level; default: all in one line
 *
 * @example writeJson({ id: new ExactNumber("12345678901234567890") }); // {"id":12345678901234567890}
 */
export function writeJson(value: unknown, indent?: number): string {
  const { isOn, met } = writing;
  writing.isOn = true;
  writing.met = 0;
  try {
    const text = JSON.stringify(value, undefined, indent);
    return writing.met === 0 ? text : withNumbers(text);
  } finally {
    writing.isOn = isOn;
    writing.met = met;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

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
  if (hasBrackets(text, maxDepth) && !isWithinDepth(body, maxDepth)) {
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
export function hasBrackets(text: string, most: number): boolean {
  let left = most;
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
