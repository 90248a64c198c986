import { isExact } from "./json-grammar.ts";

const TOKEN = /"|-?\d[\d.eE+-]*/g;

/**
 * The value of a JSON text, its numbers that JavaScript cannot hold, such as identifiers of 64 bits, as the text of their digits.
 *
 * @throws {SyntaxError} for what is no JSON
 *
 * @example parseExact('{"id":1234567890123456789}'); // { id: "1234567890123456789" }
 */
export function parseExact(text: string): unknown {
  return JSON.parse(quoteInexact(text)) as unknown;
}

function quoteInexact(text: string): string {
  let written = "";
  let copied = 0;
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(text); found; found = TOKEN.exec(text)) {
    const [token] = found;
    if (token === '"') TOKEN.lastIndex = endOfString(text, found.index + 1);
    else if (!isExact(token, /^-?\d+$/.test(token))) {
      written += `${text.slice(copied, found.index)}"${token}"`;
      copied = found.index + token.length;
    }
  }
  return copied === 0 ? text : written + text.slice(copied);
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
