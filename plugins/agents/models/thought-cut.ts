const OPEN = "<think>";
const CLOSE = "</think>";

/**
 * Cuts the thoughts of a model off the beginning of its answer: servers without a parser for them (vLLM, LM Studio) send them as
 * text. Text that comes later may hold such words, and stays.
 */
export class ThoughtCut {
  /** Whether anything was cut. */
  hasThought = false;
  #state: "start" | "thought" | "blank" | "answer" = "start";
  /** What may still become a mark, and never more than that. */
  #held = "";

  /** Takes the next piece of text. @returns what is part of the answer */
  push(piece: string): string {
    if (this.#state === "answer") return piece;
    const text = this.#held + piece;
    this.#held = "";
    if (this.#state === "start") return this.#begin(text);
    return this.#state === "blank" ? this.#afterThought(text) : this.#think(text);
  }

  /** What was held back when the text is over. */
  end(): string {
    const rest = this.#state === "start" ? this.#held : "";
    this.#held = "";
    return rest;
  }

  #begin(text: string): string {
    const said = text.trimStart();
    if (said.startsWith(OPEN)) {
      this.hasThought = true;
      this.#state = "thought";
      return this.#think(said.slice(OPEN.length));
    }
    if (OPEN.startsWith(said)) {
      // White space before it may be of any length.
      this.#held = said === "" ? text.slice(-1) : text.slice(-OPEN.length);
      return "";
    }
    this.#state = "answer";
    return text;
  }

  #think(text: string): string {
    const end = text.indexOf(CLOSE);
    if (end === -1) {
      this.#held = text.slice(1 - CLOSE.length);
      return "";
    }
    this.#state = "blank";
    return this.#afterThought(text.slice(end + CLOSE.length));
  }

  #afterThought(text: string): string {
    const said = text.trimStart();
    if (said !== "") this.#state = "answer";
    return said;
  }
}
