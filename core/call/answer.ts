import { isAscii } from "node:buffer";
import {
  applyEdits,
  type Edit,
  includes,
  editBytes,
  editValue,
  type ResultEdit,
} from "../kit/chunks.ts";
import { GatewayError } from "../kit/errors.ts";
import { DEEPEST } from "../kit/json-grammar.ts";
import { scanJson } from "../kit/json-scan.ts";
import { writeJson } from "../kit/exact-json.ts";
import { parseBounded } from "../kit/json.ts";
import type { Json, RpcError, RpcId } from "../kit/types.ts";

/** A JSON-RPC response kept as the bytes that arrived, with the place of its id. */
export interface RawMessage {
  /** The whole message in order. */
  readonly chunks: readonly Buffer[];
  /** Offset in bytes of the id value, its quotes included. */
  readonly idStart: number;
  /** Offset in bytes just behind the id value. */
  readonly idEnd: number;
  /** Offset in bytes of the result, when a scan has found it: nobody scans the message again. */
  readonly resultStart?: number;
  /** Offset in bytes just behind the result. */
  readonly resultEnd?: number;
  /** Whether the result says `isError: true`, when it was parsed on its way in: nobody looks for it again. */
  readonly isError?: boolean;
}

interface Parsed {
  readonly result?: Json;
  readonly error?: RpcError;
}

const IS_ERROR_KEY = Buffer.from('"isError"');
const TASK_WORD = Buffer.from('"task"');
/** A message whose result object is its first member, or follows nothing but scalars: the place behind its `{` is certain. */
const RESULT_START =
  /^\s*\{\s*(?:"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|\d+)\s*,\s*)*"result"\s*:\s*\{\s*/;
/** Plain ASCII shorter than this is cheaper as one string than as Buffers: Node sends it in one piece with the head. */
const TEXT_BELOW = 16 * 1024;
/** How far into a message its envelope is looked for. */
const HEAD_BYTES = 512;

/**
 * What came back for one call: a result or a JSON-RPC error.
 *
 * Large answers stay bytes until somebody looks inside; asking for {@link result}
 * parses them once. Encoding an answer nobody looked at only replaces its id.
 *
 * @example
 * gateway.use("dispatch", async (call, next) => {
 *   const answer = await next(call);
 *   return answer.isError ? Answer.failed("The shop is closed.") : answer;
 * });
 */
export class Answer {
  readonly #raw: RawMessage | undefined;
  #parsed: Parsed | undefined;
  #refused: boolean | undefined;
  #isCallersFault = false;
  #failed: boolean | undefined;

  private constructor(parsed: Parsed | undefined, raw?: RawMessage) {
    this.#parsed = parsed;
    this.#raw = raw;
    this.#failed = raw?.isError;
  }

  /** An answer that carries a result object. */
  static result(result: Json): Answer {
    return new Answer({ result });
  }

  /**
   * A tool's own report of its failure (`isError`), in words that a model can read and repair.
   *
   * @param reason `invalid` when the arguments are wrong: the same to a model, and 422 where an HTTP status tells it
   */
  static failed(words: string, reason?: "invalid"): Answer {
    const answer = Answer.result({ content: [{ type: "text", text: words }], isError: true });
    answer.#isCallersFault = reason === "invalid";
    return answer;
  }

  /** An answer that carries a JSON-RPC error. */
  static error(error: RpcError): Answer {
    return new Answer({ error });
  }

  /** An answer that stays bytes until it is looked into. */
  static raw(raw: RawMessage): Answer {
    return new Answer(undefined, raw);
  }

  /** The JSON-RPC error, if the other side refused the request. */
  get error(): RpcError | undefined {
    return this.#parse().error;
  }

  /** The result object; `undefined` when {@link error} is set. A number that JavaScript would change is an {@link ExactNumber}. */
  get result(): Json | undefined {
    return this.#parse().result;
  }

  /**
   * Whether the other side refused the request. Does not parse an answer that starts with its result; looks for that once, since
   * the log, metrics and history all ask.
   */
  get isRpcError(): boolean {
    return (this.#refused ??= !this.#startsWithResult() && this.error !== undefined);
  }

  #startsWithResult(): boolean {
    if (this.#parsed !== undefined) return false;
    const { resultStart, chunks } = this.#raw!;
    return resultStart !== undefined || RESULT_START.test(headOf(chunks));
  }

  /**
   * Whether a tool reported its own failure (`isError`). Does not parse a large answer that has no such key; looks for it once,
   * since the log, metrics and history all ask.
   */
  get isError(): boolean {
    return (this.#failed ??= this.#looksFailed() && this.result?.["isError"] === true);
  }

  #looksFailed(): boolean {
    return this.#parsed !== undefined || includes(this.#raw!.chunks, IS_ERROR_KEY);
  }

  /** Whether it is a task of the server's, not an end (`resultType: "task"`, SEP-2663). Does not parse an answer without that word. */
  get isTask(): boolean {
    if (this.#parsed === undefined && !includes(this.#raw!.chunks, TASK_WORD)) return false;
    return this.result?.["resultType"] === "task";
  }

  /** Whether a tool's failure is that of wrong arguments, as far as the tool is known to this process. */
  get isInvalid(): boolean {
    return this.#isCallersFault;
  }

  /** Whether the answer is still bytes, i.e. nobody has looked inside. */
  get isRaw(): boolean {
    return this.#parsed === undefined;
  }

  /** Size in bytes when the answer is raw, else `undefined`. */
  get rawSize(): number | undefined {
    return this.#raw?.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  }

  /**
   * Copies the beginning of a raw answer to where it is to be kept, as it arrived, i.e. with the id that its server knows. Makes
   * neither a string nor a parse, and nothing of the answer stays alive by it. Copies nothing of an answer that is not raw.
   *
   * @param at offset in `target`
   * @param length bytes to copy at most
   * @returns bytes copied
   */
  copyRaw(target: Uint8Array, at: number, length: number): number {
    let copied = 0;
    for (const chunk of this.isRaw ? this.#raw!.chunks : []) {
      if (copied >= length) break;
      copied += chunk.copy(target, at + copied, 0, length - copied);
    }
    return copied;
  }

  /**
   * The JSON-RPC response message for a client, in one or more pieces. A server may have put raw line breaks between
   * its tokens: a caller that frames by lines takes them out.
   *
   * @param id the client's own request id, type kept
   * @param defaults members added to the result object unless it has them (e.g. `resultType`)
   */
  encode(id: RpcId, defaults?: Json): (string | Buffer)[] {
    if (this.isRaw) {
      const pieces = this.#splice(id, defaults);
      if (pieces) return pieces;
    }
    if (this.error) return [writeJson({ jsonrpc: "2.0", id, error: this.error })];
    const { result } = this;
    return [
      writeJson({
        jsonrpc: "2.0",
        id,
        result: defaults ? { ...defaults, ...result } : result,
      }),
    ];
  }

  /** {@link encode} for a result, with some of its members changed; all others stay as they are. */
  encodeEdited(id: RpcId, edit: ResultEdit): (string | Buffer)[] {
    const pieces = this.isRaw ? editBytes(this.#raw!.chunks, edit) : undefined;
    return [
      `{"jsonrpc":"2.0","id":${writeJson(id)},"result":`,
      ...(pieces ?? [writeJson(editValue(this.result ?? {}, edit))]),
      "}",
    ];
  }

  /** The pieces with the id replaced and the defaults inserted; `undefined` when that takes a parse. */
  #splice(id: RpcId, defaults: Json | undefined): (string | Buffer)[] | undefined {
    const { chunks, idStart, idEnd } = this.#raw!;
    const only = chunks.length === 1 && !defaults ? chunks[0]! : undefined;
    if (only && only.length < TEXT_BELOW && isAscii(only))
      return [only.toString("latin1", 0, idStart) + writeJson(id) + only.toString("latin1", idEnd)];
    const edits: Edit[] = [{ start: idStart, end: idEnd, text: writeJson(id) }];
    if (defaults) {
      const insertion = insertDefaults(chunks, defaults);
      if (!insertion) return undefined;
      edits.push(insertion);
    }
    return applyEdits(
      chunks,
      edits.toSorted((a, b) => a.start - b.start),
    );
  }

  #parse(): Parsed {
    if (this.#parsed) return this.#parsed;
    const message = parseRaw(this.#raw!);
    this.#parsed = message.error ? { error: message.error } : { result: message.result ?? {} };
    return this.#parsed;
  }
}

/** @throws {GatewayError} `upstream_error` for bytes that only looked like JSON at their beginning */
function parseRaw({ chunks, resultStart, resultEnd }: RawMessage): Parsed {
  const bytes = Buffer.concat(chunks);
  try {
    const parsed = parseBounded(bytes) as Parsed | undefined;
    if (parsed) return parsed;
    const result = bytes.subarray(resultStart, resultEnd);
    return { result: resultAsText(resultEnd === undefined ? memberOf(bytes, "result") : result) };
  } catch (cause) {
    throw new GatewayError("upstream_error", "The server's answer is not valid JSON.", { cause });
  }
}

/** A result that would hold the event loop is one text where its bytes cannot be passed on, so nothing of it is lost. */
function resultAsText(result: Buffer): Json {
  const isError =
    result.includes(IS_ERROR_KEY) && memberOf(result, "isError").toString() === "true";
  return {
    content: [{ type: "text", text: result.toString("utf8") }],
    ...(isError && { isError }),
  };
}

/** The bytes of a member of a JSON object; empty where it has none of this name. */
function memberOf(object: Buffer, wanted: string): Buffer {
  const member = scanJson([object], DEEPEST).members.find(({ name }) => name === wanted);
  return object.subarray(member?.start ?? 0, member?.end ?? 0);
}

/** Where members can be put in front of those of the result, or `undefined` when only a parse can tell. */
function insertDefaults(chunks: readonly Buffer[], defaults: Json): Edit | undefined {
  const head = headOf(chunks);
  const match = RESULT_START.exec(head);
  if (!match) return undefined;
  const at = match[0].length;
  // An empty result object would leave a trailing comma, and so would one whose first byte lies beyond the head.
  if (at === head.length || head[at] === "}") return undefined;
  // A key that occurs anywhere may be the result's own; a duplicate key is read differently by different parsers.
  if (Object.keys(defaults).some((key) => includes(chunks, Buffer.from(JSON.stringify(key)))))
    return undefined;
  return { start: at, end: at, text: `${writeJson(defaults).slice(1, -1)},` };
}

/** The first bytes, one character per byte, whatever the chunks are. */
function headOf(chunks: readonly Buffer[]): string {
  let head = "";
  for (const chunk of chunks) {
    head += chunk.toString("latin1", 0, HEAD_BYTES - head.length);
    if (head.length >= HEAD_BYTES) break;
  }
  return head;
}
