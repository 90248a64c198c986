/** What a half-done change has to undo, last done first. */
export class Unwinding {
  readonly #undos: (() => unknown)[] = [];

  /** Remembers how to undo a step that was just done. */
  add(undo: () => unknown): void {
    this.#undos.push(undo);
  }

  /** Undoes everything, every step even when another throws; the errors are returned. */
  async run(): Promise<unknown[]> {
    const errors: unknown[] = [];
    for (const undo of this.#undos.splice(0).toReversed()) {
      try {
        const reported = await undo();
        if (Array.isArray(reported)) errors.push(...(reported as unknown[]));
      } catch (error) {
        errors.push(error);
      }
    }
    return errors;
  }
}
