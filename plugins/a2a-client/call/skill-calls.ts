import type { Answer } from "propylon";
import { within } from "propylon/kit";
import type { SkillCall } from "./skill-call.ts";

/** The conversations that go on with one agent, until it has heard of their end. */
export class SkillCalls {
  /** With what is left to be told to the agent. */
  readonly #running = new Map<SkillCall, Promise<unknown>>();

  /** Runs one. When its caller goes away, it rejects at once with the reason; what the agent does is cancelled behind it. */
  async run(conversation: SkillCall, signal: AbortSignal): Promise<Answer> {
    if (signal.aborted) throw signal.reason;
    const work = conversation.run();
    this.#keep(conversation, work);
    let leave!: () => void;
    const left = new Promise<never>((_, reject) => {
      leave = () => {
        this.#part(conversation, signal.reason);
        reject(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
    });
    try {
      return await Promise.race([work, left]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** Ends those that go on. */
  abandon(reason: unknown): void {
    for (const conversation of this.#running.keys()) this.#part(conversation, reason);
  }

  /** Waits for the end of all, at most so many milliseconds. */
  async settled(ms: number): Promise<void> {
    if (this.#running.size > 0) await within(Promise.all(this.#running.values()), ms);
  }

  #part(conversation: SkillCall, reason: unknown): void {
    const running = this.#running.get(conversation);
    this.#keep(conversation, Promise.all([running, conversation.abandon(reason)]));
  }

  #keep(conversation: SkillCall, work: Promise<unknown>): void {
    const kept: Promise<unknown> = Promise.allSettled([work]).finally(() => {
      if (this.#running.get(conversation) === kept) this.#running.delete(conversation);
    });
    this.#running.set(conversation, kept);
  }
}
