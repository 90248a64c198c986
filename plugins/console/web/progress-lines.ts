import type { Progress } from "propylon";
import { make } from "./elements.ts";

/** `search/find: started` is of the part `search/find`. */
const PART = /^(.+): (?:started|completed|failed)$/;

/** A line for each part that runs; a newer one of the same part takes its place. */
export class ProgressLines {
  readonly #lines = make("div", { className: "lines", marks: { role: "status" } });
  readonly element = make(
    "div",
    { className: "thinking", hidden: true },
    make("progress", { marks: { "aria-label": "The agent is working" } }),
    this.#lines,
  );

  begin(): void {
    this.element.hidden = false;
  }

  show({ progress, total, message = "" }: Progress): void {
    const part = PART.exec(message)?.[1] ?? "";
    const lines = [...this.#lines.children] as HTMLElement[];
    const known = lines.find((line) => line.dataset["part"] === part);
    // The part has ended; the call may go on.
    if (part !== "" && total !== undefined && total === progress) return known?.remove();
    if (known) known.textContent = message;
    else this.#lines.append(make("div", { marks: { "data-part": part } }, message));
  }

  end(): void {
    this.element.hidden = true;
    this.#lines.replaceChildren();
  }
}
