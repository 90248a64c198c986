import { textOf, type Part } from "propylon/contract";
import type { AgentEvent } from "propylon/plugins/agents";
import type { Work } from "../tasks/task/work.ts";

/** Tells of an agent's run in its task: what it does as status, what it writes as artifact. */
export class TaskReporter {
  readonly #work: Work;
  /** Text of this turn of the model that is in the artifact. */
  #written = "";

  constructor(work: Work) {
    this.#work = work;
  }

  hear(event: AgentEvent): void {
    switch (event.type) {
      case "text":
        return this.#write(event.text);
      case "step":
        return this.#begin(event.kind);
      case "tool":
        if (event.state === "completed") return;
        return this.#say(
          event.state === "started"
            ? `${event.server}/${event.tool}`
            : `${event.server}/${event.tool} failed: ${event.message ?? "no reason given"}`,
        );
      case "relayed":
        if (event.message !== undefined) this.#say(event.message);
    }
  }

  /** The run is over; the artifact becomes what was said last. */
  finish(parts: readonly Part[]): void {
    const isWhole =
      parts.every(({ text }) => text !== undefined) && textOf(parts) === this.#written;
    if (isWhole && this.#written !== "") return;
    this.#work.artifact({ parts: parts.length > 0 ? parts : [{ text: "" }], lastChunk: true });
  }

  #write(text: string): void {
    if (text === "") return;
    this.#work.artifact({ parts: [{ text }], append: this.#written !== "" });
    this.#written += text;
  }

  /** What the model wrote ahead of calling tools was not an answer: the next turn writes the artifact again. */
  #begin(kind: "llm" | "tool"): void {
    if (kind === "tool" && this.#written !== "") this.#say(this.#written);
    if (kind === "llm") this.#written = "";
  }

  #say(text: string): void {
    this.#work.status([{ text }]);
  }
}
