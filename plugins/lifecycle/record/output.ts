/** The last of what an agent said, within a number of bytes. */
export class Output {
  readonly #limit: number;
  #pieces: { readonly text: string; readonly bytes: number }[] = [];
  #bytes = 0;

  /** @param limit most UTF-8 bytes to keep */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** UTF-8 bytes kept. */
  get bytes(): number {
    return this.#bytes;
  }

  get text(): string {
    return this.#pieces.map(({ text }) => text).join("");
  }

  /** Adds something said; each on lines of its own. */
  add(said: string): void {
    const text = cutToLast(this.#pieces.length === 0 ? said : `\n${said}`, this.#limit);
    const bytes = Buffer.byteLength(text);
    if (bytes === 0) return;
    this.#pieces.push({ text, bytes });
    this.#bytes += bytes;
    while (this.#bytes > this.#limit) this.#bytes -= this.#pieces.shift()!.bytes;
  }

  /** The last characters, never half of one. */
  tail(characters: number): string {
    let tail = "";
    // A character is at most two code units long.
    for (const { text } of this.#pieces.toReversed()) {
      if (tail.length >= characters * 2) break;
      tail = text.slice(-characters * 2) + tail;
    }
    return characters === 0 ? "" : Array.from(tail).slice(-characters).join("");
  }
}

/** The end of a text that fits into so many bytes, without the rest of a character that does not. */
function cutToLast(text: string, bytes: number): string {
  const whole = Buffer.from(text);
  if (whole.length <= bytes) return text;
  let from = whole.length - bytes;
  while (from < whole.length && (whole[from]! & 0xc0) === 0x80) from++;
  return whole.subarray(from).toString();
}
