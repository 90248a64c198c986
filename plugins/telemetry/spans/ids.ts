import { randomFillSync } from "node:crypto";

/** Random bytes in stock: asking for them one id at a time costs ten times as much. */
const stock = Buffer.alloc(8_192);
let used = stock.length;

/** A new id in hexadecimal: 16 bytes for a trace, 8 for a span. */
export function createId(bytes: 8 | 16): string {
  if (used + bytes > stock.length) {
    randomFillSync(stock);
    used = 0;
  }
  return stock.toString("hex", used, (used += bytes));
}
