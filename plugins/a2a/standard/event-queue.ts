import { GatewayError } from "propylon";
import { setTimer } from "propylon/kit";
import { STATES, type Part, type StreamEvent, type TaskState } from "propylon/contract";
import { stateOf } from "../contract/task.ts";

/** Bytes that may wait for a reader that takes nothing, roughly (characters). */
const LIMIT = 1024 * 1024;
/** Bytes that may wait for any reader, by the same measure, in shares of the limit. */
const BURST = 16;
/** How long a reader for whom more than the limit waits may take nothing, in milliseconds. */
const PATIENCE_MS = 5_000;

/** How much may wait, and how long; for tests. */
export interface EventQueueOptions {
  /** Whether the events end when the task waits for somebody, and not only when it is final. */
  readonly stopsWaiting: boolean;
  readonly limit?: number;
  readonly patience?: number;
}

/**
 * The events of one task as one reader takes them. A reader that does not keep up loses interim reports first; what must not be
 * lost ends the stream with an error instead, and the reader can subscribe again. Not at once: a skill may write more in one tick
 * than anybody can read in it.
 */
export class EventQueue implements AsyncIterableIterator<StreamEvent, undefined> {
  readonly #limit: number;
  readonly #patience: number;
  readonly #stopsWaiting: boolean;
  /** Events that the reader took. */
  #taken = 0;
  /** Runs while more waits than the limit. */
  #watch: NodeJS.Timeout | undefined;
  #waiting: { readonly event: StreamEvent; readonly weight: number }[] = [];
  #weight = 0;
  #state: TaskState = "submitted";
  #fault: GatewayError | undefined;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor({ stopsWaiting, limit = LIMIT, patience = PATIENCE_MS }: EventQueueOptions) {
    this.#limit = limit;
    this.#patience = patience;
    this.#stopsWaiting = stopsWaiting;
  }

  /** Takes an event; after the one that ends the task nothing more. */
  push(event: StreamEvent): void {
    if (this.#ended) return;
    this.#supersede(event);
    const state = stateOf(event);
    const weight = weightOf(event);
    const total = this.#weight + weight;
    const isFull = this.#waiting.length > 0 && total > this.#limit;
    if (state) this.#state = state;
    if (isFull && state === "working" && "statusUpdate" in event) return;
    if (isFull && total > this.#limit * BURST) this.fail(tooSlow());
    else this.#take(event, weight);
    if (isFull) this.#watchReader();
    if (this.#isOver) this.end();
  }

  /** Nothing more will come; what waits is still handed out. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** Ends it if the task waits for somebody, when nobody can say anything more. */
  endIfWaiting(): void {
    if (STATES[this.#state].isInterrupted) this.end();
  }

  async next(): Promise<IteratorResult<StreamEvent, undefined>> {
    while (this.#waiting.length === 0 && !this.#ended)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    const next = this.#waiting.shift();
    this.#taken++;
    if (next) this.#weight -= next.weight;
    else if (this.#fault) throw this.#fault;
    return next ? { done: false, value: next.event } : { done: true, value: undefined };
  }

  return(): Promise<IteratorResult<StreamEvent, undefined>> {
    this.#drop();
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  get #isOver(): boolean {
    const { isFinal, isInterrupted } = STATES[this.#state];
    return isFinal || (isInterrupted && this.#stopsWaiting);
  }

  /** What waits of an artifact need not be read once all of it is replaced. */
  #supersede(event: StreamEvent): void {
    const id = replacedBy(event);
    if (id === undefined) return;
    const isMoot = ({ event: waiting }: { readonly event: StreamEvent }): boolean =>
      "artifactUpdate" in waiting && waiting.artifactUpdate.artifact.artifactId === id;
    for (const { weight } of this.#waiting.filter(isMoot)) this.#weight -= weight;
    this.#waiting = this.#waiting.filter((waiting) => !isMoot(waiting));
  }

  #take(event: StreamEvent, weight: number): void {
    this.#waiting.push({ event, weight });
    this.#weight += weight;
    this.#wake?.();
  }

  /** Whether it has ended with an error. */
  get isGivenUp(): boolean {
    return this.#fault !== undefined;
  }

  /** Drops what waits; the reader gets the error. */
  fail(error: GatewayError): void {
    this.#drop();
    this.#fault = error;
    this.end();
  }

  #drop(): void {
    clearTimeout(this.#watch);
    this.#waiting = [];
    this.#weight = 0;
  }

  /** Gives a reader up that takes nothing any more, as long as more waits for it than may. */
  #watchReader(): void {
    const taken = this.#taken;
    this.#watch ??= setTimer(() => {
      this.#watch = undefined;
      if (this.#weight <= this.#limit) return;
      if (this.#taken === taken) this.fail(tooSlow());
      else this.#watchReader();
    }, this.#patience).unref();
  }
}

function tooSlow(): GatewayError {
  return new GatewayError("too_large", "The stream was read too slowly.", {
    hint: "Subscribe to the task again.",
  });
}

/** Id of the artifact that an event replaces, if it does. */
function replacedBy(event: StreamEvent): string | undefined {
  if (!("artifactUpdate" in event)) return undefined;
  const { artifact, append } = event.artifactUpdate;
  return append ? undefined : artifact.artifactId;
}

function weightOf(event: StreamEvent): number {
  // What a whole task or artifact holds is held by the runtime anyway.
  if ("task" in event || replacedBy(event) !== undefined) return 1;
  if ("artifactUpdate" in event) return weightOfParts(event.artifactUpdate.artifact.parts);
  return weightOfParts(event.statusUpdate.status.message?.parts ?? []);
}

function weightOfParts(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + weightOfPart(part), 1);
}

function weightOfPart({ text, raw, data }: Part): number {
  const size = (text?.length ?? 0) + (raw?.length ?? 0);
  return data === undefined ? size : size + JSON.stringify(data).length;
}
