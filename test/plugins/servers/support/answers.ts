import type { Dice } from "../../../e2e/hostile/grammar.ts";

/** Framing characters, and others that parsers have been wrong about. */
const BITS = ["\r", "\n", "\r\n", "\r\n\r\n", " ", "\t", "0", "1", "f", ":", ";", ",", "-", "+", "\0", "\x0b", "\x0c", "\x7f", "\x80", "\x85", "\xa0", "\xff", "H", "x"] as const; // prettier-ignore
const STATUS_LINES = ["HTTP/1.1 200 OK", "HTTP/1.1 200 ", "HTTP/1.1 200", "HTTP/1.0 200 OK", "HTTP/1.1 204 No", "HTTP/1.1 304 Not", "HTTP/1.1 205 Reset", "HTTP/1.1 404 a\tb", "HTTP/1.1 500 caf\xe9", "HTTP/1.1  200 OK", "HTTP/1.1\t200 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/1.1 099 OK", "HTTP/1.1 999 OK", "HTTP/1.1 +20 OK", "HTTP/1.1 200OK", "HTTP/1.1 200\tOK", "HTTP/1.2 200 OK", "HTTP/2.0 200 OK", "HTTP/0.9 200 OK", "HTTP/1.10 200 OK", "http/1.1 200 OK", "HTTPS/1.1 200 OK", "ICY 200 OK", "RTSP/1.0 200 OK", " HTTP/1.1 200 OK", "\r\nHTTP/1.1 200 OK", "\nHTTP/1.1 200 OK", "\ufeffHTTP/1.1 200 OK", "HTTP/1.1 101 Switching", "HTTP/1.1 100 Continue", "GET / HTTP/1.1", ""] as const; // prettier-ignore
const INTERIMS = ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early\r\nlink: x\r\n\r\n", "HTTP/1.1 102 Working\r\n\r\n", "HTTP/1.1 100 Continue\r\ncontent-length: 3\r\n\r\n", "HTTP/1.1 103 Early\r\ntransfer-encoding: chunked\r\n\r\n", "HTTP/1.1 103 Early\r\nconnection: close\r\n\r\n", "HTTP/1.0 100 Continue\r\n\r\n", "HTTP/1.1 199 x\r\n\r\n", "HTTP/1.1 101 Go\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"] as const; // prettier-ignore
const LINES = ["content-length: 0", "Content-Length: 3", "content-length: 3, 3", "content-length:", "content-length: -1", "content-length: +3", "content-length: 0x3", "content-length: 3.0", "content-length: 3 3", "content-length:\t3\t", "content-length: 00003", "content-length: 99999999999999999999", "content-length: 9007199254740993", "content-length : 3", "content-length: \xa03", "content\xadlength: 3", "transfer-encoding: chunked", "Transfer-Encoding: Chunked", "transfer-encoding: chunked, chunked", "transfer-encoding: gzip, chunked", "transfer-encoding: chunked, gzip", "transfer-encoding: chunked,", "transfer-encoding: ,chunked", "transfer-encoding: identity", "transfer-encoding: xchunked", "transfer-encoding: \"chunked\"", "transfer-encoding: chunked;q=1", "transfer-encoding:", "transfer-encoding\t: chunked", "transfer-encoding: chunked\x0b", "transfer_encoding: chunked", "connection: close", "Connection: Keep-Alive", "connection: x, close", "connection: closed", "connection: upgrade", "connection: close, keep-alive", "connection:", "upgrade: h2c", "keep-alive: timeout=60", "keep-alive: timeout=0", "trailer: x", " folded", "\tfolded: x", "  ", ": no name", "x y: z", "x: ", "x:y", "no colon", "x\0y: z", "x: a\0b", "x: a\x7fb", "x: \x01", "x: \xa0nbsp\xa0", "\xa0x: y", "x\xa0: y", "@: y", "x: \x85", "HTTP/1.1 200 OK", "{}: y", "\"x\": y"] as const; // prettier-ignore
const SIZES = ["+", "-", "0x", " ", "\t", "0", "00000000", "ffffffff", "fffffffffffffffff", "g", "\xa0", "", "1", ";", "\0"] as const; // prettier-ignore
const EXTENSIONS = ["", "", "", ";x=y", "; x=\"a;b\"", " ;x", ";", ";x=\xff", ";x=\x01", "\t", " ", ";x\n", `;${"y".repeat(1_200)}`] as const; // prettier-ignore
const TRAILERS = ["", "", "", "x: y\r\n", "content-length: 3\r\n", "transfer-encoding: chunked\r\n", " x: y\r\n", "x y\r\n", "connection: close\r\n", "x: y\n"] as const; // prettier-ignore
const HUGE = [1_000, 4_000, 8_000, 15_000, 16_200, 16_300, 16_350, 16_370, 16_384, 16_400, 17_000];

/**
 * An answer that a server of MCP could give, mostly spoilt, with others behind it at times. `mark` is one character, which stands in its
 * body and in a header, and in no answer that is given another one.
 */
export function makeAnswer(dice: Dice, mark: string): string {
  let text = `${interims(dice)}${head(dice, mark)}`;
  const spoils = dice.pick([0, 1, 1, 1, 2]);
  for (let count = 0; count < spoils; count++) text = spoil(dice, text);
  if (dice.chance(0.1)) text = text.slice(0, dice.below(text.length));
  if (dice.chance(0.15)) text += dice.pick(["x", "\r\n", "HTTP/1.1 200 OK\r\n", head(dice, mark)]);
  return text;
}

/** How its bytes come: at once, cut once, byte by byte, or in pieces. */
export function cut(dice: Dice, text: string): Buffer[] {
  const bytes = Buffer.from(text, "latin1");
  const how = dice.below(4);
  if (how === 0 || bytes.length === 0) return [bytes];
  if (how === 1) {
    const at = 1 + dice.below(bytes.length);
    return at === bytes.length ? [bytes] : [bytes.subarray(0, at), bytes.subarray(at)];
  }
  // A head of 16 KB byte by byte takes longer than it teaches.
  return pieces(bytes, bytes.length > 2_000 ? 700 : how === 2 ? 1 : 2 + dice.below(40));
}

/** Pieces of one size; the last may be shorter. */
export function pieces(bytes: Buffer, size: number): Buffer[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

function interims(dice: Dice): string {
  if (dice.chance(0.85)) return "";
  const count = dice.pick([1, 1, 2, 15, 16, 17]);
  return Array.from({ length: count }, () => dice.pick(count > 2 ? INTERIMS.slice(0, 3) : INTERIMS)).join(""); // prettier-ignore
}

function head(dice: Dice, mark: string): string {
  const status = dice.chance(0.8) ? STATUS_LINES[0] : dice.pick(STATUS_LINES);
  const fields = [`x-mark: ${mark}`];
  for (let count = dice.below(3); count > 0; count--) fields.push(dice.pick(["date: x", "Content-Type: application/json", "keep-alive: timeout=60", "connection: close"])); // prettier-ignore
  const body = dice.pick([
    "",
    "a",
    `{"x":"`,
    "0\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nz",
  ]);
  return `${[status, ...fields].join("\r\n")}\r\n${framed(dice, `${body}${mark.repeat(dice.below(9))}`)}`;
}

function framed(dice: Dice, body: string): string {
  const kind = dice.below(5);
  if (kind === 0) return `connection: close\r\n\r\n${body}`;
  if (kind < 3) return `content-length: ${body.length}\r\n\r\n${body}`;
  return `transfer-encoding: chunked\r\n\r\n${chunked(dice, body)}`;
}

function chunked(dice: Dice, body: string): string {
  let text = "";
  for (let at = 0; at < body.length;) {
    const part = body.slice(at, at + 1 + dice.below(12));
    const size = part.length.toString(16);
    text += `${dice.chance(0.9) ? size : size.padStart(3, "0").toUpperCase()}${dice.pick(EXTENSIONS.slice(0, 4))}\r\n${part}\r\n`; // prettier-ignore
    at += part.length;
  }
  return `${text}0\r\n${dice.pick(TRAILERS.slice(0, 4))}\r\n`;
}

/** One change of any kind. */
function spoil(dice: Dice, text: string): string {
  const kind = dice.below(9);
  if (kind < 2) return replace(dice, text);
  if (kind === 2) return text.replace(/^[^\r]*/, () => dice.pick(STATUS_LINES));
  if (kind === 3) return insertLine(dice, text, dice.pick(LINES));
  if (kind === 4) return spoilLines(dice, text);
  if (kind === 5) return spoilEnds(dice, text);
  if (kind === 6) return spoilSize(dice, text);
  if (kind === 7) return text.replace(/\r\n0\r\n.*$/s, () => `\r\n0${dice.pick(EXTENSIONS)}\r\n${dice.pick(TRAILERS)}\r\n`); // prettier-ignore
  return dice.chance(0.2)
    ? insertLine(dice, text, dice.pick(["x: #", "#: y", "x: y\r\n#: #"]).replace("#", "z".repeat(dice.pick(HUGE)))) // prettier-ignore
    : insertLine(dice, text, dice.pick(LINES));
}

function replace(dice: Dice, text: string): string {
  const at = dice.below(text.length + 1);
  return text.slice(0, at) + dice.pick([...BITS, ""]) + text.slice(at + dice.below(3));
}

/** Among the lines of the head, mostly. */
function insertLine(dice: Dice, text: string, line: string): string {
  const places = [...text.matchAll(/\r\n/g)].map(({ index }) => index);
  if (places.length === 0) return text + line;
  const at = dice.pick(places.slice(0, 4));
  return `${text.slice(0, at)}\r\n${line}${text.slice(at)}`;
}

function spoilLines(dice: Dice, text: string): string {
  const lines = text.split("\r\n");
  const [from, to] = [dice.below(lines.length), dice.below(lines.length)];
  const [line] = dice.chance(0.5) ? lines.splice(from, 1) : lines.slice(from, from + 1);
  if (dice.chance(0.7)) lines.splice(to, 0, line!);
  return lines.join("\r\n");
}

/** Line ends without their CR, or without their LF, or turned around. */
function spoilEnds(dice: Dice, text: string): string {
  const end = dice.pick(["\n", "\r", "\n\r", "\r\r\n", " \r\n", "\r \n"]);
  if (dice.chance(0.2)) return text.replaceAll("\r\n", end);
  const places = [...text.matchAll(/\r\n/g)].map(({ index }) => index);
  if (places.length === 0) return text;
  const at = dice.pick(places);
  return text.slice(0, at) + end + text.slice(at + 2);
}

function spoilSize(dice: Dice, text: string): string {
  const places = [...text.matchAll(/\r\n[\da-f]+(?=[\r;])/gi)];
  if (places.length === 0) return text;
  const { 0: found, index } = dice.pick(places);
  const at = index + (dice.chance(0.5) ? 2 : found.length);
  return text.slice(0, at) + dice.pick([...SIZES, ...EXTENSIONS]) + text.slice(at + dice.below(2));
}
