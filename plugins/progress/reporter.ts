import type { Progress } from "propylon";
import type { ProgressOptions } from "./options.ts";
import type { AgentEvent, AgentReporter } from "./service.ts";

/** A message that names its source already, or a turn of an agent: passed on as it is. */
const NAMED = /^[^\s/:]+\/[^\s:]+: /;

/** A tool that an agent further down began. */
const STARTED = /^[^\s/:]+\/[^\s:]+: started$/;

type Relayed = Extract<AgentEvent, { readonly type: "relayed" }>;

/** Longest text of a model in one report, in characters. */
const MAX_TEXT = 500;

/** Puts what an agent does into the words of the source. */
export class Reporter implements AgentReporter {
  readonly #agent: string;
  readonly #send: (report: Progress) => void;
  readonly #options: Pick<ProgressOptions, "mode" | "loop" | "text">;
  #count = 0;
  #text = "";

  constructor(
    agent: string,
    send: (report: Progress) => void,
    options: Pick<ProgressOptions, "mode" | "loop" | "text">,
  ) {
    this.#agent = agent;
    this.#send = send;
    this.#options = options;
  }

  get deltas(): boolean {
    return this.#options.text;
  }

  report(event: AgentEvent): void {
    switch (event.type) {
      case "step":
        this.#text = "";
        if (this.#options.loop)
          this.#tell(`${this.#agent} step ${event.step} (${event.kind})`, event.step);
        break;
      case "tool": {
        const message = `${event.server}/${event.tool}: ${event.state}`;
        if (event.state === "started") this.#tell(message, 0);
        else this.#tellEnd(message);
        break;
      }
      case "relayed":
        this.#relay(event);
        break;
      case "text":
        if (this.#options.text) this.#say(event.text, event.delta);
        break;
    }
  }

  /** A part that has ended stays one that has, however deep below it did. */
  #relay({ server, tool, message = "running", progress, total }: Relayed): void {
    const words = NAMED.test(message) ? message : `${server}/${tool}: ${message}`;
    if (progress !== undefined && total !== undefined && progress >= total)
      return this.#tellEnd(words);
    if (STARTED.test(message)) return this.#tell(words, 0);
    this.#tell(words, progress ?? this.#count, total);
  }

  /** Each report has the whole text of the turn so far: clients show the latest one only. */
  #say(text: string, isDelta: boolean): void {
    this.#text = isDelta ? this.#text + text : text;
    const shown = this.#text.length > MAX_TEXT ? `…${this.#text.slice(1 - MAX_TEXT)}` : this.#text;
    this.#tell(`${this.#agent} says: ${shown}`, this.#count);
  }

  /**
   * @param literal the value in compat mode
   * @param total what it is of, in compat mode: the counter of the other mode has no end
   */
  #tell(message: string, literal: number, total?: number): void {
    this.#count++;
    if (this.#options.mode === "strict") this.#send({ progress: this.#count, message });
    else this.#send({ progress: literal, message, ...(total !== undefined && { total }) });
  }

  /** `total == progress` marks the end of a tool; the call goes on. */
  #tellEnd(message: string): void {
    this.#count++;
    const progress = this.#options.mode === "strict" ? this.#count : 1;
    this.#send({ progress, total: progress, message });
  }
}
