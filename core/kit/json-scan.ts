import {
  type JsonScan,
  type Member,
  DEEPEST,
  VALUE,
  VALUE_OR_END,
  KEY,
  KEY_OR_END,
  AFTER_KEY,
  AFTER_VALUE,
  STRING,
  ESCAPE,
  HEX,
  LITERAL,
  NUMBER,
  BEHIND,
  BLANK,
  BROKEN,
  COLUMN,
  DIGITS,
  ESCAPES,
  EXPONENT,
  FRACTION,
  HEX_DIGITS,
  LITERALS,
  PARTS,
  PLAIN,
  SIGN,
  ZERO,
} from "./json-grammar.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Bytes of a string read one by one before a search for its end is worth its price. */
const SHORT = 32;
/** Longest name of a member that is read. */
const LONGEST_NAME = 32;
/** Members that are told of; an object of more has none that anybody looks for behind them. */
export const MOST_MEMBERS = 32;
/** Whether each level of nesting is an object. Shared: a scan is over before the next begins. */
const levels = new Uint8Array(DEEPEST + 1);

/**
 * Checks a JSON text and finds the members of its outermost object, without making a value of it. A long string costs no more than
 * a search for its end; that is also why a raw control character deep inside one is not found.
 *
 * @param chunks the text in pieces, cut anywhere
 * @param maxDepth deepest accepted nesting of arrays and objects, at most 1,023
 *
 * @example const { fault, members } = scanJson([Buffer.from('{"id":1,"result":{}}')], 64);
 */
export function scanJson(chunks: readonly Buffer[], maxDepth: number): JsonScan {
  scanner.begin(Math.min(maxDepth, DEEPEST));
  scanner.run(chunks);
  return { fault: scanner.fault, isObject: scanner.isObject, members: scanner.members };
}

class Scanner {
  fault: JsonScan["fault"];
  isObject = false;
  members: Member[] = [];
  #maxDepth = 0;
  #state = VALUE;
  #depth = 0;
  /** Bytes before this chunk. */
  #base = 0;
  /** Whether the string that is read is a key, and its text where that is of interest. */
  #isKey = false;
  #name: string | undefined = "";
  /** Of the top-level member that is read: its name, and where that and its value began. */
  #member: string | undefined = "";
  #key = 0;
  #start = 0;
  /** Which part of a number is read. */
  #part = SIGN;
  #literal = "";
  /** Characters of a literal or digits of an escape that were read. */
  #read = 0;
  /** Next places of them in this chunk, once looked for. */
  #quote = -1;
  #backslash = -1;

  begin(maxDepth: number): void {
    this.fault = undefined;
    this.isObject = false;
    this.members = [];
    this.#maxDepth = maxDepth;
    this.#state = VALUE;
    this.#depth = 0;
    this.#base = 0;
  }

  run(chunks: readonly Buffer[]): void {
    for (const chunk of chunks) {
      this.#quote = -1;
      this.#backslash = -1;
      for (let at = 0; at < chunk.length;) {
        at = this.#state < STRING ? this.#between(chunk, at) : this.#within(chunk, at);
        if (this.fault !== undefined) return;
      }
      this.#base += chunk.length;
    }
    if (this.#state === NUMBER) this.#endNumber(this.#base);
    if (this.#depth > 0 || this.#state !== AFTER_VALUE) this.fault ??= "syntax";
  }

  /** Reads tokens of one character and the beginnings of others; stops behind the first of those. */
  #between(chunk: Buffer, from: number): number {
    let at = from;
    for (; at < chunk.length && this.#state < STRING && this.fault === undefined; at++) {
      const byte = chunk[at]!;
      if (BLANK[byte] === 1) continue;
      switch (this.#state) {
        case AFTER_VALUE:
          this.#afterValue(byte, at);
          break;
        case AFTER_KEY:
          if (byte === COLON) this.#state = VALUE;
          else this.fault = "syntax";
          break;
        case KEY:
        case KEY_OR_END:
          if (byte === QUOTE) this.#beginKey(at);
          else if (byte === CLOSE_OBJECT && this.#state === KEY_OR_END) this.#close(at);
          else this.fault = "syntax";
          break;
        default:
          if (byte === CLOSE_ARRAY && this.#state === VALUE_OR_END) this.#close(at);
          else this.#beginValue(byte, at);
      }
    }
    return at;
  }

  #afterValue(byte: number, at: number): void {
    const inObject = this.#depth > 0 && levels[this.#depth] === 1;
    if (byte === COMMA && this.#depth > 0) this.#state = inObject ? KEY : VALUE;
    else if (byte === (inObject ? CLOSE_OBJECT : CLOSE_ARRAY) && this.#depth > 0) this.#close(at);
    else this.fault = "syntax";
  }

  #beginValue(byte: number, at: number): void {
    if (this.#depth === 1) this.#start = this.#base + at;
    if (byte === QUOTE) this.#beginString(false);
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#open(byte === OPEN_OBJECT);
    else this.#beginScalar(byte);
  }

  #beginScalar(byte: number): void {
    const literal = LITERALS.get(byte);
    const part = PARTS[SIGN]![COLUMN[byte]!] ?? BROKEN;
    if (literal !== undefined) {
      this.#literal = literal;
      this.#read = 1;
      this.#state = LITERAL;
    } else if (part !== BROKEN || byte === 0x2d) {
      this.#part = part === BROKEN ? SIGN : part;
      this.#state = NUMBER;
    } else this.fault = "syntax";
  }

  #beginKey(at: number): void {
    if (this.#depth === 1) this.#key = this.#base + at;
    this.#beginString(true);
  }

  #beginString(isKey: boolean): void {
    this.#state = STRING;
    this.#isKey = isKey;
    this.#name = isKey && this.#depth === 1 ? "" : undefined;
  }

  #open(isObject: boolean): void {
    if (this.#depth === 0) this.isObject = isObject;
    if (++this.#depth > this.#maxDepth) this.fault = "depth";
    else levels[this.#depth] = isObject ? 1 : 0;
    this.#state = isObject ? KEY_OR_END : VALUE_OR_END;
  }

  #close(at: number): void {
    this.#depth--;
    this.#endValue(this.#base + at + 1);
  }

  /** @param end just behind the value */
  #endValue(end: number): void {
    this.#state = AFTER_VALUE;
    if (this.#depth === 1 && this.isObject && this.members.length < MOST_MEMBERS)
      this.members.push({ name: this.#member, key: this.#key, start: this.#start, end });
  }

  /** Reads on in a token. */
  #within(chunk: Buffer, at: number): number {
    if (this.#state === STRING) return this.#string(chunk, at);
    if (this.#state === NUMBER) return this.#inNumber(chunk, at);
    const byte = chunk[at]!;
    if (this.#state === LITERAL) this.#inLiteral(byte, at);
    else this.#inEscape(byte);
    return at + 1;
  }

  #string(chunk: Buffer, from: number): number {
    const { length } = chunk;
    let at = this.#plain(chunk, from);
    // The usual escapes, here because texts that hold code or JSON have one every few bytes.
    while (at + 1 < length && chunk[at] === BACKSLASH && ESCAPES[chunk[at + 1]!] === 1)
      at = this.#plain(chunk, at + 2);
    if (this.#name !== undefined) this.#spell(chunk, from, at);
    if (at === length) return at;
    const byte = chunk[at];
    if (byte === BACKSLASH) this.#state = ESCAPE;
    else if (byte !== QUOTE) this.fault = "syntax";
    else if (this.#isKey) this.#endKey();
    else this.#endValue(this.#base + at + 1);
    return at + 1;
  }

  /** Reads more of the name of a top-level member. */
  #spell(chunk: Buffer, from: number, to: number): void {
    const isShort = to - from + this.#name!.length <= LONGEST_NAME;
    const name = isShort ? this.#name + chunk.toString("latin1", from, to) : undefined;
    this.#name = name?.includes("\\") || chunk[to] === BACKSLASH ? undefined : name;
  }

  #endKey(): void {
    this.#state = AFTER_KEY;
    if (this.#depth === 1) this.#member = this.#name;
  }

  /** Behind the bytes that stand for themselves. */
  #plain(chunk: Buffer, from: number): number {
    const { length } = chunk;
    const near = Math.min(length, from + SHORT);
    let at = from;
    while (at < near && PLAIN[chunk[at]!] === 1) at++;
    if (at < near || at === length) return at;
    if (this.#quote < at) this.#quote = find(chunk, QUOTE, at);
    if (this.#backslash < at) this.#backslash = find(chunk, BACKSLASH, at);
    return Math.min(this.#quote, this.#backslash);
  }

  #inEscape(byte: number): void {
    if (this.#state === HEX) {
      if (HEX_DIGITS[byte] === 0) this.fault = "syntax";
      else if (++this.#read === 4) this.#state = STRING;
    } else if (byte === 0x75) {
      this.#state = HEX;
      this.#read = 0;
    } else if (ESCAPES[byte] === 1) this.#state = STRING;
    else this.fault = "syntax";
  }

  #inLiteral(byte: number, at: number): void {
    if (byte !== this.#literal.charCodeAt(this.#read)) this.fault = "syntax";
    else if (++this.#read === this.#literal.length) this.#endValue(this.#base + at + 1);
  }

  /** Stops at the byte behind it, which is read as what it is. */
  #inNumber(chunk: Buffer, from: number): number {
    let at = from;
    let part = this.#part;
    for (; at < chunk.length && part !== BROKEN; at++) {
      const column = COLUMN[chunk[at]!]!;
      if (column === BEHIND) break;
      part = PARTS[part]![column]!;
    }
    this.#part = part;
    if (at < chunk.length || part === BROKEN) this.#endNumber(this.#base + at);
    return at;
  }

  #endNumber(end: number): void {
    const part = this.#part;
    if (part !== ZERO && part !== DIGITS && part !== FRACTION && part !== EXPONENT)
      this.fault = "syntax";
    this.#endValue(end);
  }
}

function find(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from);
  return at === -1 ? chunk.length : at;
}

/**
 * One for all, since a scan is over before the next begins. An object with so many private fields keeps its shape only while one of
 * them is alive: after a garbage collection V8 makes dictionaries of new ones, which read ten times slower, 4 MB in 1 s.
 */
const scanner = new Scanner();
