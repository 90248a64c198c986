import { randomBytes } from "node:crypto";
import { Answer } from "../answer.ts";

/**
 * Starts every id we give a server. A server, or another client of it, cannot guess one, so no reply can be steered to a call
 * it does not belong to (T5, CVE-2026-25536).
 */
const PREFIX = randomBytes(15).toString("base64url");

/** Messages up to this many bytes are parsed: that is as cheap as splicing (performance.md, "Reparse or splice?"). */
export const PARSE_BELOW = 4_096;

/** How much of either end of a message is looked at to find its id. */
const EDGE = 256;

const ID = `"(${PREFIX}[0-9a-z]+)"`;
const HEAD_ID = new RegExp(`^\\s*\\{\\s*(?:"jsonrpc"\\s*:\\s*"2\\.0"\\s*,\\s*)?"id"\\s*:\\s*${ID}`);
const HEAD_RESPONSE = new RegExp(
  `${HEAD_ID.source}\\s*,\\s*(?:"jsonrpc"\\s*:\\s*"2\\.0"\\s*,\\s*)?"result"\\s*:\\s*\\{`,
);
const HEAD_RESULT = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"result"\s*:\s*\{/;
const HEAD_METHOD = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:/;
/** The last `}` closes the message itself, so an id right before it is the message's own and not one inside the result. */
const TAIL_ID = new RegExp(
  `[,{]\\s*"id"\\s*:\\s*${ID}\\s*(?:,\\s*"jsonrpc"\\s*:\\s*"2\\.0"\\s*)?\\}\\s*$`,
);

let last = 0;

/** A request id no server can guess: unique in the process, also used as progress token. */
export function nextId(): string {
  return PREFIX + (++last).toString(36);
}

/** A large response found without parsing it. */
export interface FoundResponse {
  readonly id: string;
  readonly answer: Answer;
}

/**
 * Finds the id of a large result message in its first or last bytes. `undefined` when its shape is not one of the two that
 * servers write (id near the start, id at the end) and it must be parsed to be sure.
 */
export function findResponse(chunks: readonly Buffer[], length: number): FoundResponse | undefined {
  const head = firstBytes(chunks, EDGE).toString("latin1");
  const tail = lastBytes(chunks, EDGE).toString("latin1");
  const front = HEAD_RESPONSE.exec(head);
  const back = TAIL_ID.exec(tail);
  // Both ends naming an id is a duplicate key: only a parser decides that.
  if (front && !back && /\}\s*$/.test(tail))
    return found(chunks, front[1]!, head.indexOf(`"${front[1]}"`));
  if (back && !front && HEAD_RESULT.test(head)) {
    return found(chunks, back[1]!, length - tail.length + tail.lastIndexOf(`"${back[1]}"`));
  }
  return undefined;
}

const SMALL_HEAD = `{"jsonrpc":"2.0","id":"${PREFIX}`;
const SMALL_HEAD_END = '","result":{';
const ID_AT = SMALL_HEAD.indexOf("id");
const RESULT_AT = '{"result'.indexOf("r");
const [LETTER_I, LETTER_R] = [105, 114];
const SMALL_TAIL = `},"jsonrpc":"2.0","id":"${PREFIX}`;

/**
 * Finds the id of a small result message in the two exact forms that most servers write. Anything unusual about it, such as
 * our id at a second place or a raw line break, leaves it to the parser.
 */
export function findSmallResponse(chunks: readonly Buffer[]): FoundResponse | undefined {
  if (chunks.length !== 1 || !mayAnswer(chunks[0]!)) return undefined;
  const text = chunks[0]!.toString("latin1");
  const start = text.startsWith(SMALL_HEAD)
    ? SMALL_HEAD.length
    : text.startsWith('{"result":{')
      ? text.indexOf(SMALL_TAIL) + SMALL_TAIL.length
      : 0;
  if (start < SMALL_HEAD.length) return undefined;
  const end = text.indexOf('"', start);
  const rest =
    start === SMALL_HEAD.length
      ? text.startsWith(SMALL_HEAD_END, end) && text.endsWith("}}")
      : end === text.length - 2 && text.endsWith('"}');
  if (!rest || text.includes(PREFIX, end) || text.includes("\n") || text.includes("\r"))
    return undefined;
  const idStart = start - PREFIX.length;
  return found(chunks, text.slice(idStart, end), idStart - 1);
}

/** Whether one byte of either form is in its place, so that no text is made of notifications for nothing. */
function mayAnswer(bytes: Buffer): boolean {
  return bytes[ID_AT] === LETTER_I || bytes[RESULT_AT] === LETTER_R;
}

/** The id of an answer to us, if the first bytes of the message show it. */
export function findId(head: Buffer): string | undefined {
  return HEAD_ID.exec(head.toString("latin1", 0, EDGE))?.[1];
}

/** The id of an answer to us, if the last bytes of the message show it. */
export function findLastId(tail: Buffer): string | undefined {
  return TAIL_ID.exec(tail.toString("latin1"))?.[1];
}

/** Whether the first bytes of a message show that it answers nothing: it begins with its method. */
export function isNotice(head: Buffer): boolean {
  return HEAD_METHOD.test(head.toString("latin1", 0, EDGE));
}

/**
 * Parses a message that came in chunks.
 * @throws {SyntaxError} for anything that is not JSON
 */
export function parseMessage(chunks: readonly Buffer[]): unknown {
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  return JSON.parse(bytes.toString("utf8"));
}

/** The first bytes of a list of chunks, at most `count`. */
export function firstBytes(chunks: readonly Buffer[], count: number): Buffer {
  const first = chunks[0] ?? Buffer.alloc(0);
  if (first.length >= count || chunks.length < 2) return first.subarray(0, count);
  const parts: Buffer[] = [];
  let missing = count;
  for (let index = 0; missing > 0 && index < chunks.length; index++) {
    parts.push(chunks[index]!.subarray(0, missing));
    missing -= parts.at(-1)!.length;
  }
  return Buffer.concat(parts);
}

/** The last bytes of a list of chunks, at most `count`, copied. */
export function lastBytes(chunks: readonly Buffer[], count: number): Buffer {
  const parts: Buffer[] = [];
  let missing = count;
  for (let index = chunks.length - 1; missing > 0 && index >= 0; index--) {
    const chunk = chunks[index]!;
    parts.unshift(chunk.subarray(Math.max(0, chunk.length - missing)));
    missing -= parts[0]!.length;
  }
  return Buffer.concat(parts);
}

function found(chunks: readonly Buffer[], id: string, idStart: number): FoundResponse {
  return { id, answer: Answer.raw({ chunks, idStart, idEnd: idStart + id.length + 2 }) };
}
