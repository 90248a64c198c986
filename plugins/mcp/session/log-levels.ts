import { SEVERITIES } from "propylon/internal";

/** Counts which levels the sessions of an endpoint want and tells when the most verbose one changes. */
export class LogLevels {
  readonly #counts = SEVERITIES.map(() => 0);
  readonly #onChange: (level: string | undefined) => void;
  #current: string | undefined;

  /** @param onChange receives the least severe level wanted by anyone, `undefined` when nobody wants any */
  constructor(onChange: (level: string | undefined) => void) {
    this.#onChange = onChange;
  }

  /** The least severe level wanted by anyone. */
  get current(): string | undefined {
    return this.#current;
  }

  /** Moves one session from one level to another; -1 = none. */
  change(from: number, to: number): void {
    if (from >= 0) this.#counts[from]!--;
    if (to >= 0) this.#counts[to]!++;
    const level = SEVERITIES[this.#counts.findIndex((count) => count > 0)];
    if (level === this.#current) return;
    this.#current = level;
    this.#onChange(level);
  }
}
