import { randomBytes } from "node:crypto";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;

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
