import { isObject, UniqueNames } from "propylon/kit";
import { scalarText } from "propylon/internal";
import { CUT_OFF, textOfPiece, toArguments } from "./call-arguments.ts";
import { MAX_CALLS, NO_NAME, TOO_MANY_CALLS } from "./call-pieces.ts";
import { textIn } from "./content.ts";
import { SaidFailure } from "./said-failure.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What a block is while it comes; blocks of other types do not matter. */
type Block = WordsBlock | CallBlock | { readonly type: "other" };

interface WordsBlock {
  readonly type: "text" | "thinking";
  readonly place: number;
}

interface CallBlock {
  readonly type: "tool_use";
  readonly head: Fields;
  readonly input: string[];
  isOver: boolean;
}

/** The type of the block that a piece belongs to when the beginning of the block is missing. */
const BLOCK_OF: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  input_json_delta: "tool_use",
};

/**
 * The blocks of one message of Anthropic's, each with an index of its own and from its beginning to its end. A call is said as a whole
 * when the next block begins: only what comes behind it shows whether it was cut off.
 */
export class MessageBlocks {
  readonly #ids = new UniqueNames();
  readonly #open = new Map<string, Block>();
  #calls: CallBlock[] = [];
  #made = 0;
  #places = 0;
  #last = "";

  /** A block begins. @returns events for the package */
  begin(index: unknown, block: unknown): unknown[] {
    const key = (this.#last = scalarText(index) || `${this.#places}`);
    const before = [...this.#close(key), ...this.#sayCalls()];
    return isObject(block) ? [...before, ...this.#begin(key, block)] : before;
  }

  /** A piece of a block. @returns events for the package */
  hear(index: unknown, delta: unknown): unknown[] {
    if (!isObject(delta)) return [];
    const key = scalarText(index) || this.#last;
    const kind = scalarText(delta["type"]);
    const isMissing = !this.#open.has(key) && Object.hasOwn(BLOCK_OF, kind);
    const before = isMissing ? this.begin(key, { type: BLOCK_OF[kind] }) : [];
    return [...before, ...hearPiece(this.#open.get(key), kind, delta)];
  }

  /** A block ends. @returns events for the package */
  stop(index: unknown): unknown[] {
    return this.#close(scalarText(index) || this.#last);
  }

  /** @param isCut whether the message was cut off. @returns events for the package */
  end(isCut: boolean): unknown[] {
    const ends = [...this.#open.keys()].flatMap((key) => this.#close(key));
    const last = this.#calls.at(-1);
    return [...ends, ...this.#calls.flatMap((call) => this.#sayCall(call, isCut && call === last))];
  }

  #begin(key: string, block: Fields): unknown[] {
    const { type } = block;
    if (type === "redacted_thinking")
      return framed(this.#places++, { type, data: scalarText(block["data"]) }, []);
    if (type === "text" || type === "thinking") return this.#beginWords(key, type, block);
    if (type === "tool_use") {
      if (++this.#made > MAX_CALLS) return [new SaidFailure(TOO_MANY_CALLS)];
      const call: CallBlock = { type, head: block, input: [], isOver: false };
      this.#open.set(key, call);
      this.#calls.push(call);
    } else this.#open.set(key, { type: "other" });
    return [];
  }

  /** The package takes no words from the beginning of a block. */
  #beginWords(key: string, type: WordsBlock["type"], block: Fields): unknown[] {
    const place = this.#places++;
    const words = { type, place };
    this.#open.set(key, words);
    return [
      { type: "content_block_start", index: place, content_block: { type, [type]: "" } },
      ...hearPiece(words, `${type}_delta`, block),
      ...hearPiece(words, "signature_delta", block),
    ];
  }

  #close(key: string): unknown[] {
    const block = this.#open.get(key);
    this.#open.delete(key);
    if (block?.type === "tool_use") block.isOver = true;
    return block && "place" in block ? [{ type: "content_block_stop", index: block.place }] : [];
  }

  #sayCalls(): unknown[] {
    const over = this.#calls.filter(({ isOver }) => isOver);
    if (over.length > 0) this.#calls = this.#calls.filter(({ isOver }) => !isOver);
    return over.flatMap((call) => this.#sayCall(call, false));
  }

  #sayCall({ head, input }: CallBlock, isCut: boolean): unknown[] {
    const { id, name, input: first } = head;
    const args = toArguments(input.length > 0 ? input.join("") : textOfPiece(first));
    const block = {
      type: "tool_use",
      id: this.#ids.take(scalarText(id) || "call"),
      name: scalarText(name).trim() || NO_NAME,
    };
    const json = isCut && input.length === 0 && args === "{}" ? CUT_OFF : args;
    return framed(this.#places++, block, [{ type: "input_json_delta", partial_json: json }]);
  }
}

/** Takes a piece into its block. */
function hearPiece(block: Block | undefined, kind: string, delta: Fields): unknown[] {
  if (block?.type === "tool_use") {
    const json = textOfPiece(delta["partial_json"]);
    if (json !== "") block.input.push(json);
  }
  return block && "place" in block ? sayPiece(block, kind, delta) : [];
}

function sayPiece({ type, place }: WordsBlock, kind: string, delta: Fields): unknown[] {
  const event = { type: "content_block_delta", index: place };
  const text = textIn(delta[type]);
  if (kind === `${type}_delta` && text !== "")
    return [{ ...event, delta: { type: kind, [type]: text } }];
  const signature = scalarText(delta["signature"]);
  return kind === "signature_delta" && type === "thinking" && signature !== ""
    ? [{ ...event, delta: { type: kind, signature } }]
    : [];
}

function framed(index: number, block: Fields, deltas: readonly Fields[]): unknown[] {
  return [
    { type: "content_block_start", index, content_block: block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}
