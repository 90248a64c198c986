import { TOO_DEEP } from "propylon/internal";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = new Set([0x5b, 0x7b]);
const CLOSE = new Set([0x5d, 0x7d]);

/**
 * A JSON text without what nests deeper than allowed, in the place of which a text stands: one definition of a list must not take all
 * others with it. Invalid JSON comes out as such.
 */
export function pruneDepth(chunks: readonly Buffer[], maxDepth: number): Buffer {
  const text = Buffer.concat(chunks);
  const kept: Buffer[] = [];
  const stand = Buffer.from(JSON.stringify(TOO_DEEP));
  let from = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]!;
    if (byte === QUOTE) at = endOfText(text, at);
    else if (OPEN.has(byte) && ++depth === maxDepth + 1) kept.push(text.subarray(from, at), stand);
    else if (CLOSE.has(byte) && depth-- === maxDepth + 1) from = at + 1;
  }
  // Cut off within what is left out.
  if (depth <= maxDepth) kept.push(text.subarray(from));
  return Buffer.concat(kept);
}

function endOfText(text: Buffer, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === BACKSLASH) at++;
    else if (text[at] === QUOTE) return at;
  }
  return text.length;
}
