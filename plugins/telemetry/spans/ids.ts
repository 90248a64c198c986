import { randomFillSync } from "node:crypto";

/** Random bytes in stock: asking for few costs as much as asking for many. */
const stock = Buffer.alloc(8_192);
let used = stock.length;
/** Bytes that become text at a time. Few, since an id that is kept keeps the text that it is a part of. */
const STEP = 512;
let text = "";
let read = 0;

/** A new id in hexadecimal: 16 bytes for a trace, 8 for a span. */
export function createId(bytes: 8 | 16): string {
  if (read + 2 * bytes > text.length) refill();
  return text.slice(read, (read += 2 * bytes));
}

function refill(): void {
  if (used === stock.length) {
    randomFillSync(stock);
    used = 0;
  }
  text = stock.toString("hex", used, (used += STEP));
  read = 0;
}
