/** The last bytes of a stream, in a ring of fixed size. */
export class RingBuffer {
  readonly #size: number;
  #ring: Buffer | undefined;
  #written = 0;

  /** @param size bytes kept */
  constructor(size: number) {
    this.#size = size;
  }

  append(chunk: Buffer): void {
    this.#ring ??= Buffer.alloc(this.#size);
    const kept = chunk.length > this.#size ? chunk.subarray(-this.#size) : chunk;
    this.#written += chunk.length - kept.length;
    const at = this.#written % this.#size;
    const fitting = kept.copy(this.#ring, at);
    if (fitting < kept.length) kept.copy(this.#ring, 0, fitting);
    this.#written += kept.length;
  }

  /** The bytes kept, as text. A character cut at the start is left out. */
  get text(): string {
    if (this.#ring === undefined) return "";
    if (this.#written <= this.#size) return this.#ring.toString("utf8", 0, this.#written);
    const at = this.#written % this.#size;
    const joined = Buffer.concat([this.#ring.subarray(at), this.#ring.subarray(0, at)]);
    return joined.toString("utf8").replace(/^\uFFFD+/, "");
  }

  /** The last line with anything on it, at most `limit` characters. */
  lastLine(limit: number): string {
    return (
      this.text
        .trimEnd()
        .split(/[\r\n]+/)
        .at(-1)
        ?.trim()
        .slice(0, limit) ?? ""
    );
  }
}
