/** Some notes, the newest first. */
export class Notes {
  readonly #notes: string[] = [];
  #max = Infinity;

  /** Keeps at most so many from now on. */
  limit(max: number): void {
    this.#max = max;
    this.#drop();
  }

  /** Keeps a note; returns how many there are. */
  add(text: string): number {
    this.#notes.unshift(text);
    this.#drop();
    return this.#notes.length;
  }

  list(): readonly string[] {
    return [...this.#notes];
  }

  #drop(): void {
    this.#notes.length = Math.min(this.#notes.length, this.#max);
  }
}
