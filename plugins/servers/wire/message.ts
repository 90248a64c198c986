import { isAscii, isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import { Answer, type Json } from "propylon";
import {
  type JsonScan,
  hasBrackets,
  lastBytes,
  latin1Of,
  parseBounded,
  scanJson,
} from "propylon/internal";

/**
 * Starts every id we give a server. A server, or another client of it, cannot guess one, so no reply can be steered to a call
 * it does not belong to (CVE-2026-25536).
 */
const PREFIX = randomBytes(15).toString("base64url");

/** How much of the end of a message is looked at to find its id. */
const EDGE = 256;

const ID = `"(${PREFIX}[0-9a-z]+)"`;
const OURS = new RegExp(`^${ID}$`);
const HEAD_ID = new RegExp(`^\\s*\\{\\s*(?:"jsonrpc"\\s*:\\s*"2\\.0"\\s*,\\s*)?"id"\\s*:\\s*${ID}`);
const HEAD_METHOD = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:/;
/** The last `}` closes the message itself, so an id right before it is the message's own and not one inside the result. */
const TAIL_ID = new RegExp(
  `[,{]\\s*"id"\\s*:\\s*${ID}\\s*(?:,\\s*"jsonrpc"\\s*:\\s*"2\\.0"\\s*)?\\}\\s*$`,
);
/** Longest id of ours with its quotes, in bytes. */
const LONGEST_ID = 64;

/** Up to this many bytes a native parser is faster than a scan. */
const SMALL = 4_096;
/** How nearly all servers write a result: with the id before it, or behind it. */
const SMALL_HEAD = new RegExp(`^\\{"jsonrpc":"2\\.0","id":${ID},"result":(?=\\{)`);
const SMALL_ID_AT = '{"jsonrpc":"2.0","id":'.length;
const SMALL_START = '{"result":{';
const SMALL_TAIL = new RegExp(`^,"jsonrpc":"2\\.0","id":${ID}\\}$`);
const SMALL_TAIL_START = `,"jsonrpc":"2.0","id":"${PREFIX}`;

/** Members that a JSON-RPC message may have. */
const MEMBERS: ReadonlySet<string | undefined> = new Set([
  "jsonrpc",
  "id",
  "method",
  "params",
  "result",
  "error",
]);

let last = 0;

/** A request id no server can guess: unique in the process. */
export function nextId(): string {
  return PREFIX + (++last).toString(36);
}

/** Why a message is thrown away: invalid JSON, nested too deep, too dear to parse, or not JSON-RPC. */
export type MessageFault = "syntax" | "depth" | "work" | "shape";

/** What is known of a message before it is parsed. */
export interface ReadMessage {
  readonly fault: MessageFault | undefined;
  /** Ids of ours that it names, outside of its result and parameters. */
  readonly ids: readonly string[];
  /** The whole of it, if it is a result that can travel as the bytes that came. */
  readonly answer: Answer | undefined;
}

/**
 * Reads the outermost level of a message, to its last byte. What names a member twice is refused, because readers disagree about
 * which one counts: one of two ids could be that of another client's call. Only what holds `jsonrpc`, `id` and `result` and
 * nothing else stays bytes, so that nothing else can reach a client beside them.
 *
 * @param maxDepth deepest accepted nesting
 */
export function readMessage(chunks: readonly Buffer[], maxDepth: number): ReadMessage {
  const small = chunks.length === 1 ? readSmall(chunks[0]!, maxDepth) : undefined;
  if (small) return small;
  const scan = scanJson(chunks, maxDepth);
  const ids = idsOf(scan, chunks);
  if (scan.fault !== undefined) {
    const late = ids.length > 0 ? undefined : findLastId(lastBytes(chunks, EDGE));
    return { fault: scan.fault, ids: late === undefined ? ids : [late], answer: undefined };
  }
  if (isRepeating(scan)) return { fault: "shape", ids, answer: undefined };
  return { fault: undefined, ids, answer: answerOf(scan, chunks, ids) };
}

/**
 * Reads a small result in one of the usual forms, where all but the result is known to the byte: what is left must be one
 * object. Anything unusual is left to the scan.
 */
function readSmall(chunk: Buffer, maxDepth: number): ReadMessage | undefined {
  if (chunk.length > SMALL || !isAscii(chunk)) return undefined;
  const text = chunk.toString("latin1");
  const place = placeOfResult(text);
  // The message is a level of its own.
  if (!place || !text.endsWith("}") || hasBrackets(text, maxDepth)) return undefined;
  const { id, idStart, start, end } = place;
  const result = parseResult(text.slice(start, end));
  if (!result) return undefined;
  const idEnd = idStart + id.length + 2;
  const isError = result["isError"] === true;
  const raw = { chunks: [chunk], idStart, idEnd, resultStart: start, resultEnd: end, isError };
  return { fault: undefined, ids: [id], answer: Answer.raw(raw) };
}

function parseResult(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Where the id, with its quotes, and the result of a message in a usual form are. */
function placeOfResult(text: string): ResultPlace | undefined {
  const head = SMALL_HEAD.exec(text);
  if (head)
    return { id: head[1]!, idStart: SMALL_ID_AT, start: head[0].length, end: text.length - 1 };
  if (!text.startsWith(SMALL_START)) return undefined;
  const end = text.lastIndexOf(SMALL_TAIL_START);
  const id = end === -1 ? undefined : SMALL_TAIL.exec(text.slice(end))?.[1];
  if (id === undefined) return undefined;
  const idStart = text.length - id.length - '""}'.length;
  return { id, idStart, start: SMALL_START.length - 1, end };
}

interface ResultPlace {
  readonly id: string;
  readonly idStart: number;
  readonly start: number;
  readonly end: number;
}

function idsOf({ members }: JsonScan, chunks: readonly Buffer[]): readonly string[] {
  const ids: string[] = [];
  for (const { name, start, end } of members) {
    if (name !== "id" || end - start > LONGEST_ID) continue;
    const id = OURS.exec(latin1Of(chunks, start, end))?.[1];
    if (id !== undefined) ids.push(id);
  }
  return ids;
}

function isRepeating({ members }: JsonScan): boolean {
  return members.some(
    ({ name }, index) =>
      MEMBERS.has(name) && members.findIndex((other) => other.name === name) < index,
  );
}

function answerOf(
  { members }: JsonScan,
  chunks: readonly Buffer[],
  ids: readonly string[],
): Answer | undefined {
  const [id, result, version] = ["id", "result", "jsonrpc"].map((wanted) =>
    members.find(({ name }) => name === wanted),
  );
  if (ids.length !== 1 || !id || !result || !version || members.length !== 3) return undefined;
  const isPlain =
    latin1Of(chunks, version.start, version.end) === '"2.0"' &&
    latin1Of(chunks, result.start, result.start + 1) === "{";
  if (!isPlain || !isText(chunks)) return undefined;
  const [idStart, idEnd] = [id.start, id.end];
  return Answer.raw({ chunks, idStart, idEnd, resultStart: result.start, resultEnd: result.end });
}

/** Whether the bytes are UTF-8, which not every client repairs. */
function isText(chunks: readonly Buffer[]): boolean {
  if (chunks.every((chunk) => isAscii(chunk))) return true;
  return isUtf8(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
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
 * @returns `undefined` for one that would hold the event loop
 * @throws {SyntaxError} for anything that is not JSON
 */
export function parseMessage(chunks: readonly Buffer[]): unknown {
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  return parseBounded(bytes);
}
