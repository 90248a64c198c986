import { make } from "./elements.ts";
import type { Progress } from "propylon";

/** `search/find: started` is of the part `search/find`. */
const PART = /^(.+): (?:started|completed|failed)$/;

/** A line for each part that runs; a newer one of the same part takes its place. */
export class ProgressLines {
  readonly #box: HTMLElement;
  readonly #lines: HTMLElement;

  constructor(parent: Element) {
    this.#box = make(parent, "div", { className: "thinking", hidden: true });
    make(this.#box, "progress").setAttribute("aria-label", "The agent is working");
    this.#lines = make(this.#box, "div", { className: "lines" });
    this.#lines.setAttribute("role", "status");
  }

  begin(): void {
    this.#box.hidden = false;
  }

  show({ progress, total, message = "" }: Progress): void {
    const part = PART.exec(message)?.[1] ?? "";
    const lines = [...this.#lines.children] as HTMLElement[];
    const known = lines.find((line) => line.dataset["part"] === part);
    // The part has ended; the call may go on.
    if (part !== "" && total !== undefined && total === progress) return known?.remove();
    const line = known ?? make(this.#lines, "div", {}, { part });
    line.textContent = message;
  }

  end(): void {
    this.#box.hidden = true;
    this.#lines.replaceChildren();
  }
}
