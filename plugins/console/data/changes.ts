import { randomUUID } from "node:crypto";
import { FIRST_PROBLEM, setTimer } from "propylon/kit";
import type { Store } from "propylon/store";
import { z } from "zod";

/** The parts of a console. */
export const consolePartSchema = z.enum(["instances", "workspaces", "agents"]);

/** Which part of a console is other than before: `agents` is their health. */
export type ConsolePart = z.output<typeof consolePartSchema>;

/** What replicas of a store tell each other. */
const newsSchema = z.object({ part: consolePartSchema, change: z.string().max(40) });

/** A storm of changes is told this often, in milliseconds. */
const SPACING_MS = 250;

/** Tells every replica of the store, and through it every page, that something is other than before. */
export class ConsoleChanges {
  readonly #emit: (part: ConsolePart, change: string) => void;
  readonly #waiting = new Map<
    ConsolePart,
    { readonly at: number; readonly timer: NodeJS.Timeout }
  >();
  readonly #last = new Map<ConsolePart, number>();
  #publish: ((part: ConsolePart, change: string) => Promise<void>) | undefined;
  #leave = (): Promise<void> | void => {};

  /** @param emit tells of a change; every replica is told of it under the same name */
  constructor(emit: (part: ConsolePart, change: string) => void) {
    this.#emit = emit;
  }

  /** Hears the other replicas of the store. */
  async start(store: Store): Promise<void> {
    const topic = store.topic<unknown>("changes");
    this.#leave = await topic.subscribe((message) => {
      const { data } = newsSchema.safeParse(message, FIRST_PROBLEM);
      if (data) this.#emit(data.part, data.change);
    });
    this.#publish = (part, change) => topic.publish({ part, change });
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

  /** Each replica asks the agents on its own; the tables are those of all. */
  #send(part: ConsolePart): void {
    this.#waiting.delete(part);
    this.#last.set(part, performance.now());
    const change = randomUUID();
    if (part === "agents" || !this.#publish) return this.#emit(part, change);
    // Without the store the pages of this gateway are told all the same.
    this.#publish(part, change).catch(() => this.#emit(part, change));
  }
}
