import type { OfferedTool } from "../service.ts";

/** Tools that every agent has beside its own; of several of one name the last offered counts. */
export class Offers {
  readonly #offers: OfferedTool[] = [];
  readonly #listeners = new Set<() => void>();

  /** By name. */
  get current(): ReadonlyMap<string, OfferedTool> {
    return new Map(this.#offers.map((tool) => [tool.name, tool]));
  }

  /** Hears of every change from now on. */
  follow(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Adds one; the returned function takes it back. */
  add(tool: OfferedTool): () => void {
    this.#offers.push(tool);
    this.#tell();
    return () => {
      const at = this.#offers.indexOf(tool);
      if (at < 0) return;
      this.#offers.splice(at, 1);
      this.#tell();
    };
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
