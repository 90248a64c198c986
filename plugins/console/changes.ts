import type { PluginContext } from "propylon";
import { setTimer } from "propylon/kit";
import { z } from "zod";

/** The parts of a console. */
export const consolePartSchema = z.enum(["instances", "workspaces", "agents"]);

/** Which part of a console is other than before: `agents` is their health. */
export type ConsolePart = z.output<typeof consolePartSchema>;

/** A storm of changes is told this often, in milliseconds. */
const SPACING_MS = 250;

/** Tells every gateway of the store, and through it every page, that something is other than before. */
export class ConsoleChanges {
  readonly #emit: (part: ConsolePart) => void;
  readonly #waiting = new Map<
    ConsolePart,
    { readonly at: number; readonly timer: NodeJS.Timeout }
  >();
  readonly #last = new Map<ConsolePart, number>();
  #publish: ((part: ConsolePart) => Promise<void>) | undefined;
  #leave = (): Promise<void> | void => {};

  constructor(emit: (part: ConsolePart) => void) {
    this.#emit = emit;
  }

  /** Hears the other gateways of the store. */
  async start(store: PluginContext["store"]): Promise<void> {
    const topic = store.topic<unknown>("changes");
    this.#leave = await topic.subscribe((message) => {
      const { data } = consolePartSchema.safeParse(message);
      if (data !== undefined) this.#emit(data);
    });
    this.#publish = (part) => topic.publish(part);
  }

  async close(): Promise<void> {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    this.#publish = undefined;
    await this.#leave();
  }

  /** @param within milliseconds, for what is not worth an event of its own */
  tell(part: ConsolePart, within = 0): void {
    const now = performance.now();
    const at = Math.max(now + within, (this.#last.get(part) ?? -SPACING_MS) + SPACING_MS);
    const waiting = this.#waiting.get(part);
    if (waiting && waiting.at <= at) return;
    clearTimeout(waiting?.timer);
    const timer = setTimer(() => this.#send(part), at - now);
    this.#waiting.set(part, { at, timer });
  }

  /** Each gateway asks the agents by itself; the tables are those of all. */
  #send(part: ConsolePart): void {
    this.#waiting.delete(part);
    this.#last.set(part, performance.now());
    if (part === "agents" || !this.#publish) return this.#emit(part);
    // Without the store the pages of this gateway are told all the same.
    this.#publish(part).catch(() => this.#emit(part));
  }
}
