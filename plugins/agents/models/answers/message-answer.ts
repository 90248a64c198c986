import { isObject } from "propylon/kit";
import { scalarText } from "propylon/internal";
import { reasonIn } from "./provider-words.ts";
import type { AnswerReader } from "./answer-body.ts";
import { countIn } from "./count.ts";
import { MessageBlocks } from "./message-blocks.ts";
import { isFailure, SaidFailure } from "./said-failure.ts";

type Fields = Readonly<Record<string, unknown>>;

const COUNTS = [
  "input_tokens",
  "output_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
];

/** Comes first: the package takes a failure in the first event for one of HTTP. */
const START = { type: "message_start", message: { usage: { input_tokens: 0 } } };

/** An answer of Anthropic's messages, by any server. */
export class MessageAnswer implements AnswerReader {
  isOver = false;
  readonly #blocks = new MessageBlocks();
  #isBegun = false;
  /** Whether a part of an answer came, so that others do not matter. */
  #isAnswer = false;
  #other: Fields | undefined;
  #stop: string | undefined;
  #usage: Record<string, number> = {};

  take(piece: unknown, name: string | undefined): readonly unknown[] {
    const start = this.#isBegun ? [] : [START];
    this.#isBegun = true;
    return [...start, ...this.#take(piece, name)];
  }

  end(isComplete: boolean): readonly unknown[] {
    if (!this.#isAnswer && this.#other) return [this.#other];
    if (this.#stop === undefined && !isComplete) return [];
    const stop = this.#stop ?? "end_turn";
    const usage = { output_tokens: 0, ...this.#usage };
    return [
      ...this.#blocks.end(stop === "max_tokens"),
      { type: "message_delta", delta: { stop_reason: stop }, usage },
      { type: "message_stop" },
    ];
  }

  #take(piece: unknown, name: string | undefined): readonly unknown[] {
    if (!isObject(piece)) return [piece];
    if (isFailure(piece["error"])) return [new SaidFailure(piece["error"])];
    if (name === undefined) return this.#takeWhole(piece);
    // Some servers say the type in the name of the event alone.
    const events = this.#takeEvent(scalarText(piece["type"]) || name, piece);
    if (events) this.#isAnswer = true;
    return events ?? this.#takeOther(piece);
  }

  #takeWhole(message: Fields): unknown[] {
    const { content } = message;
    if (typeof content !== "string" && !Array.isArray(content)) return this.#takeOther(message);
    this.#isAnswer = true;
    this.#hearEnd(message);
    const blocks: readonly unknown[] =
      typeof content === "string" ? [{ type: "text", text: content }] : content;
    return blocks.flatMap((block, at) => [
      ...this.#blocks.begin(at, block),
      ...this.#blocks.stop(at),
    ]);
  }

  /** No part of an answer: a ping, or the reason of a failure in a shape of its own. */
  #takeOther(piece: Fields): unknown[] {
    this.#other ??= piece;
    return reasonIn(piece) === undefined ? [] : [new SaidFailure(piece)];
  }

  #takeEvent(type: string, event: Fields): unknown[] | undefined {
    switch (type) {
      case "message_start":
        return this.#takeStart(event["message"]);
      case "content_block_start":
        return this.#blocks.begin(event["index"], event["content_block"]);
      case "content_block_delta":
        return this.#blocks.hear(event["index"], event["delta"]);
      case "content_block_stop":
        return this.#blocks.stop(event["index"]);
      case "message_delta":
        if (isObject(event["delta"])) this.#hearEnd({ ...event["delta"], usage: event["usage"] });
        return [];
      case "message_stop":
        this.isOver = true;
        return [];
      default:
        return undefined;
    }
  }

  /** Its content is empty, save for a server that says all of it at once. */
  #takeStart(message: unknown): unknown[] {
    if (!isObject(message)) return [];
    this.#count(message["usage"]);
    const { content } = message;
    return Array.isArray(content) && content.length > 0 ? this.#takeWhole(message) : [];
  }

  #hearEnd({ stop_reason: stop, usage }: Fields): void {
    this.#stop = scalarText(stop) || this.#stop;
    this.#count(usage);
  }

  #count(usage: unknown): void {
    if (!isObject(usage)) return;
    for (const key of COUNTS) {
      const count = countIn(usage, key);
      if (count !== undefined) this.#usage[key] = count;
    }
  }
}
