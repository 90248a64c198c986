import { isDeepStrictEqual } from "node:util";
import { isGatewayError } from "propylon";
import { pause } from "propylon/kit";
import type { Task } from "propylon/contract";
import type { RemoteEvent, AgentClient, OutgoingMessage, RequestContext } from "./agent-client.ts";
import { isUpstreamError, isUnsent, AgentRefusal, type AgentErrors } from "../card/errors.ts";
import { TaskView, type Outcome } from "./view.ts";

/** Waits before a message that never left is sent again, in milliseconds. */
const RESEND_MS = [200, 800];
/** First wait between two looks at a task, in milliseconds; each further one is half as long again. */
const FIRST_LOOK_MS = 100;
/** How long an agent may take to name its task, and to cancel it, once nobody waits any more, in milliseconds. */
export const PARTING_MS = 5_000;

/** What a {@link Turn} works with. */
export interface TurnOptions {
  readonly client: AgentClient;
  readonly errors: AgentErrors;
  /** Trace context. */
  readonly headers: RequestContext["headers"];
  /** Longest wait between two looks, in milliseconds. */
  readonly pollInterval: number;
  /** How long an agent out of reach is looked for, in milliseconds. */
  readonly resumeTimeout: number;
  readonly maxResult: number;
  /** Hears how the task is getting on. */
  report(words: string): void;
}

/**
 * One message to an agent and all that comes of it, until its task is final or waits for somebody. The message is sent again only
 * when it certainly never arrived, so nothing is carried out twice; a task whose connection broke is found again by its id.
 */
export class Turn {
  readonly #options: TurnOptions;
  readonly #view: TaskView;
  readonly #wire = new AbortController();
  readonly #context: RequestContext;
  /** Events were missed. */
  #isResumed = false;

  constructor(options: TurnOptions) {
    const { errors, headers, maxResult } = options;
    this.#options = options;
    this.#view = new TaskView(maxResult, () => errors.tooLarge(maxResult));
    this.#context = { signal: this.#wire.signal, headers };
  }

  /**
   * @throws {AgentRefusal} when the agent says no
   * @throws {GatewayError} `upstream_error`, `result_too_large`; the reason of {@link abandon}
   */
  async run(outgoing: OutgoingMessage): Promise<Outcome> {
    if (outgoing.message.taskId !== undefined && this.#options.client.tasks)
      this.#view.expect(outgoing.message.taskId);
    try {
      await this.#send(outgoing);
      await this.#follow();
      return this.#view.outcome;
    } catch (error) {
      if (isGatewayError(error) && error.code === "result_too_large") void this.#cancel();
      throw error;
    } finally {
      this.#wire.abort();
    }
  }

  /** Nobody waits any more: the task is cancelled where that can be said, and the connection closed. Never rejects. */
  async abandon(reason: unknown): Promise<void> {
    if (this.#options.client.tasks) await this.#cancel();
    this.#wire.abort(reason);
  }

  /** Its id may still be on its way. */
  async #cancel(): Promise<void> {
    const { signal: wire } = this.#wire;
    const signal = AbortSignal.timeout(PARTING_MS);
    const id = this.#view.id ?? (await Promise.race([this.#view.known, aborted(signal, wire)]));
    if (id === undefined || this.#view.isFinal || wire.aborted) return;
    // An agent that cannot cancel, or is gone, does not concern a caller who is gone too.
    await this.#options.client.tasks?.cancel(id, { ...this.#context, signal }).catch(() => {});
  }

  async #send(outgoing: OutgoingMessage): Promise<void> {
    const { client } = this.#options;
    const isNew = outgoing.message.taskId === undefined || !client.tasks;
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#read(client.send(outgoing, this.#context), isNew);
        if (this.#view.isTold) return;
        throw this.#options.errors.protocol("ended its answer without a task");
      } catch (error) {
        const wait = RESEND_MS[attempt];
        if (isUnsent(error) && wait !== undefined) await this.#pause(wait);
        else if (client.tasks && this.#view.isTold && isUpstreamError(error)) return;
        else throw error;
      }
    }
  }

  /**
   * Reads until the task has settled, or nothing comes any more.
   * @param isNew whether whatever is told is news. A task that goes on may be shown as it was, waiting, before it moves
   */
  async #read(events: AsyncIterable<RemoteEvent>, isNew: boolean): Promise<void> {
    let isNews = isNew;
    let last: Task["status"] | undefined;
    for await (const event of events) {
      const before = this.#view.words;
      this.#view.add(event);
      const { isFinal, isSettled, words, status } = this.#view;
      isNews ||=
        "statusUpdate" in event || (last !== undefined && !isDeepStrictEqual(last, status));
      last = status;
      if (!isSettled) this.#options.report(words === before ? "" : words);
      if (isFinal || (isSettled && isNews)) return;
    }
  }

  async #follow(): Promise<void> {
    const { client, errors } = this.#options;
    if (!client.tasks && !this.#view.isSettled)
      throw errors.protocol("ended its answer before its task had ended");
    let subscribes = client.streams;
    let wait = FIRST_LOOK_MS;
    let seen = performance.now();
    while (!this.#view.isSettled) {
      try {
        if (subscribes) await this.#subscribe();
        else await this.#look();
        seen = performance.now();
        subscribes = false;
      } catch (error) {
        subscribes = this.#judge(error, subscribes, seen);
      }
      if (this.#view.isSettled) break;
      await this.#pause(wait);
      wait = Math.min(wait * 1.5, this.#options.pollInterval);
    }
    if (this.#isResumed) await this.#catchUp();
  }

  /** What was told while nobody listened is in the task itself; an agent that is gone by now has told the rest. */
  async #catchUp(): Promise<void> {
    try {
      await this.#look();
    } catch (error) {
      if (!isUpstreamError(error) && !(error instanceof AgentRefusal)) throw error;
    }
  }

  async #subscribe(): Promise<void> {
    this.#isResumed = true;
    await this.#read(this.#tasks.subscribe(this.#view.id!, this.#context), true);
  }

  async #look(): Promise<void> {
    const task = await this.#tasks.get(this.#view.id!, this.#context);
    const before = this.#view.words;
    this.#view.add({ task });
    if (this.#view.words !== before && !this.#view.isSettled)
      this.#options.report(this.#view.words);
  }

  get #tasks() {
    return this.#options.client.tasks!;
  }

  /** @returns whether to subscribe (again) */
  #judge(error: unknown, subscribed: boolean, seen: number): boolean {
    const { errors, resumeTimeout } = this.#options;
    if (error instanceof AgentRefusal) {
      // A task that has ended, or an agent that does not stream, cannot be subscribed to.
      if (subscribed && !error.isUnknownTask) return false;
      throw error.isUnknownTask ? errors.protocol("has forgotten the task", error) : error;
    }
    if (!isUpstreamError(error) || performance.now() - seen > resumeTimeout) throw error;
    return false;
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, this.#wire.signal);
    this.#wire.signal.throwIfAborted();
  }
}

/** Resolves when the first of the signals aborts. */
function aborted(...signals: readonly AbortSignal[]): Promise<undefined> {
  return new Promise((resolve) => {
    for (const signal of signals)
      signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
