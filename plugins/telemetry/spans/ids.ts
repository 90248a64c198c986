import { randomBytes } from "node:crypto";

/** Random bytes in stock, in hexadecimal. Few, since an id that is kept keeps all of them. */
const STOCK = 512;
let stock = "";
let used = 0;

/** A new id in hexadecimal: 16 bytes for a trace, 8 for a span. A part of what is in stock costs a twentieth of asking for it. */
export function createId(bytes: 8 | 16): string {
  if (used + 2 * bytes > stock.length) {
    stock = randomBytes(STOCK).toString("hex");
    used = 0;
  }
  return stock.slice(used, (used += 2 * bytes));
}
