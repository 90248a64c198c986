import { parseBounded } from "propylon/internal";

/**
 * Characters of one answer: texts, thoughts and arguments. All of it stays in the conversation, which goes out again at each turn;
 * the longest that a model says are some 128,000 tokens.
 */
export const MAX_CHARACTERS = 2_000_000;

/** How deep a piece of an answer may nest; the provider decides how deep it does. */
const MAX_DEPTH = 100;

/** The value of a JSON text; `undefined` where it is not valid, nests too deep, or takes too long to read. */
export function readPiece(bytes: Buffer): unknown {
  try {
    return parseBounded(bytes, MAX_DEPTH);
  } catch {
    return undefined;
  }
}
