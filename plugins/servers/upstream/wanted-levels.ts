import { SEVERITIES } from "propylon/internal";

/** The log levels that clients want of a server. */
export class WantedLevels {
  readonly #wanted = new Map<object, string>();
  #least: string | undefined;

  /** The least severe of them; `undefined`: nobody wants any. */
  get least(): string | undefined {
    return this.#least;
  }

  /** Notes what an asker wants; `undefined` is nothing any more. @returns whether the least severe is another */
  set(level: string | undefined, asker: object): boolean {
    if (level === undefined) this.#wanted.delete(asker);
    else this.#wanted.set(asker, level);
    const wanted = new Set(this.#wanted.values());
    const least = SEVERITIES.find((each) => wanted.has(each));
    const isNew = least !== this.#least;
    this.#least = least;
    return isNew;
  }
}
