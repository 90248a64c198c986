import { isExact } from "./decimal.ts";
import { markNumber, unmark, withNumbers, writing } from "./exact-number.ts";

const TOKEN = /"|-?\d[\d.eE+-]*/g;
/** Shorter ones without an exponent are held. */
const SAFE_LENGTH = 15;

/** Numbers of one text that are kept as such: each costs a microsecond or two, and a text of 4 MB has room for 600,000. */
const MOST = 50_000;

/** There are more of them than are kept. */
export class TooManyNumbers extends Error {
  override readonly name = "TooManyNumbers";

  constructor() {
    super(`It has more than ${MOST} numbers that JavaScript does not hold.`);
  }
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
 * As {@link parseExact}, for a text that can be refused: with more than 50,000 of them it is.
 *
 * @throws {SyntaxError} for invalid JSON
 * @throws {TooManyNumbers}
 */
export function parseFew(text: string): unknown {
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

/** @param isStrict whether a text with too many is refused; otherwise those behind are texts of their digits */
function parseSuspect(text: string, isStrict: boolean): unknown {
  const marked = markInexact(text, isStrict);
  return marked === text ? (JSON.parse(text) as unknown) : restore(parseMarked(marked, text));
}

/** A fault is told at its place in the text that came. */
function parseMarked(marked: string, text: string): unknown {
  try {
    return JSON.parse(marked);
  } catch {
    return JSON.parse(text);
  }
}

/** The text with each of those numbers as a marked string. */
function markInexact(text: string, isStrict: boolean): string {
  let count = 0;
  const pieces: string[] = [];
  let copied = 0;
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(text); found; found = TOKEN.exec(text)) {
    const [token] = found;
    if (token === '"') TOKEN.lastIndex = endOfString(text, found.index + 1);
    else if (isChanged(token)) {
      if (++count > MOST && isStrict) throw new TooManyNumbers();
      const mark = count > MOST ? `"${token}"` : markNumber(token);
      pieces.push(text.slice(copied, found.index), mark);
      copied = found.index + token.length;
    }
  }
  return copied === 0 ? text : pieces.join("") + text.slice(copied);
}

/** An invalid number stays for the parser to refuse. */
function isChanged(token: string): boolean {
  if (token.length <= SAFE_LENGTH && !/e/i.test(token)) return false;
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(token) && !isExact(token);
}

/** Just behind the closing quote. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
  return text.length;
}

/** In place: what a parser made belongs to nobody else. */
function restore(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return unmark(value);
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) value[at] = restore(value[at]);
    return value;
  }
  const members = value as Record<string, unknown>;
  for (const key of Object.keys(members)) members[key] = restore(members[key]);
  return members;
}
