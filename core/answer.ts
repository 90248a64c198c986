import type { Json, RpcError, RpcId } from "./types.ts";

/** A JSON-RPC response kept as the bytes that arrived, with the place of its id. */
export interface RawMessage {
  /** The whole message in order. Never contains a raw CR or LF. */
  readonly chunks: readonly Buffer[];
  /** Offset in bytes of the id value, its quotes included. */
  readonly idStart: number;
  /** Offset in bytes just behind the id value. */
  readonly idEnd: number;
}

interface Parsed {
  readonly result?: Json;
  readonly error?: RpcError;
}

const IS_ERROR_KEY = Buffer.from('"isError"');
/** A message whose result object is its first member, or follows nothing but scalars: the place behind its `{` is certain. */
const RESULT_START = /^\s*\{\s*(?:"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|\d+)\s*,\s*)*"result"\s*:\s*\{/;

/**
 * What came back for one call: a result or a JSON-RPC error.
 *
 * Large answers stay bytes until somebody looks inside (performance.md, rule 5); asking for {@link result}
 * parses them once. Encoding an answer nobody looked at only replaces its id.
 */
export class Answer {
  readonly #raw: RawMessage | undefined;
  #parsed: Parsed | undefined;

  private constructor(parsed: Parsed | undefined, raw?: RawMessage) {
    this.#parsed = parsed;
    this.#raw = raw;
  }

  /** An answer that carries a result object. */
  static result(result: Json): Answer {
    return new Answer({ result });
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

  /** The result object; `undefined` when {@link error} is set. */
  get result(): Json | undefined {
    return this.#parse().result;
  }

  /** Whether a tool reported its own failure (`isError`). Does not parse a large answer that has no such key. */
  get isError(): boolean {
    if (this.#parsed === undefined && !this.#raw!.chunks.some((chunk) => chunk.includes(IS_ERROR_KEY))) return false;
    return this.result?.["isError"] === true;
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
   * The JSON-RPC response message for a client, in one or more pieces without line breaks.
   *
   * @param id the client's own request id, type kept
   * @param defaults members added to the result object unless it has them (e.g. `resultType`)
   */
  encode(id: RpcId, defaults?: Json): (string | Buffer)[] {
    if (this.#parsed === undefined) {
      const pieces = this.#splice(id, defaults);
      if (pieces) return pieces;
    }
    const { result, error } = this.#parse();
    if (error) return [JSON.stringify({ jsonrpc: "2.0", id, error })];
    return [JSON.stringify({ jsonrpc: "2.0", id, result: defaults ? { ...defaults, ...result } : result })];
  }

  #splice(id: RpcId, defaults: Json | undefined): (string | Buffer)[] | undefined {
    const { chunks, idStart, idEnd } = this.#raw!;
    const edits: { start: number; end: number; text: string }[] = [{ start: idStart, end: idEnd, text: JSON.stringify(id) }];
    if (defaults) {
      const head = chunks[0]!.toString("latin1", 0, 512);
      const match = RESULT_START.exec(head);
      if (!match) return undefined;
      // Duplicate keys: the server's own member comes later and wins (JSON.parse keeps the last).
      edits.push({ start: match[0].length, end: match[0].length, text: `${JSON.stringify(defaults).slice(1, -1)},` });
      // An empty result object would leave a trailing comma.
      if (/^\s*\}/.test(head.slice(match[0].length))) return undefined;
    }
    return applyEdits(chunks, edits.sort((a, b) => a.start - b.start));
  }

  #parse(): Parsed {
    if (this.#parsed) return this.#parsed;
    const message = JSON.parse(Buffer.concat(this.#raw!.chunks as Buffer[]).toString("utf8")) as Parsed;
    this.#parsed = message.error ? { error: message.error } : { result: message.result ?? {} };
    return this.#parsed;
  }
}

/** Copies nothing: slices the chunks around the replaced spans. */
function applyEdits(chunks: readonly Buffer[], edits: readonly { start: number; end: number; text: string }[]): (string | Buffer)[] {
  const out: (string | Buffer)[] = [];
  let offset = 0;
  let next = 0;
  for (const chunk of chunks) {
    let from = 0;
    const end = offset + chunk.length;
    for (let edit = edits[next]; edit && edit.start < end; edit = edits[next]) {
      if (edit.start >= offset + from) {
        out.push(chunk.subarray(from, edit.start - offset), edit.text);
      }
      from = Math.min(edit.end - offset, chunk.length);
      if (edit.end > end) break;
      next++;
    }
    // A span that started in an earlier chunk may end inside this one.
    if (from < chunk.length) out.push(from === 0 ? chunk : chunk.subarray(from));
    offset = end;
  }
  return out;
}
