import { isGatewayError } from "propylon";
import { backoffDelay, pause, setTicker, writeJson } from "propylon/kit";
import { CONTINUES_HEADER, type SendMessageRequest, type Task } from "propylon/contract";
import { lettersOf } from "./dead.ts";
import type { Ending } from "./ending.ts";
import { Failure } from "../message/failure.ts";
import { MESSAGE_ID, OWNER, sizeOf } from "../message/headers.ts";
import { Limit } from "../message/limit.ts";
import { scopedId, writeOwner, type TaskName } from "../message/owner.ts";
import { Alias } from "../runtime/alias.ts";
import type { RuntimeClient, SendContext } from "../runtime/runtime.ts";
import type { Settings } from "../settings.ts";
import { tokenOf } from "../message/subjects.ts";
import {
  failedTask,
  keyOf,
  unreadName,
  readSubmittedTask,
  statusEvent,
  type SubmittedTask,
} from "../message/task.ts";
import { SpanKind, Step } from "../message/trace.ts";
import type { Delivery, LedgerEntry, Transport } from "../message/transport.ts";

const RETRY = { initial: 200, max: 5_000 };

/**
 * Does something until it goes well.
 * @param isFinal whether another try will fail, too
 * @throws what it failed with last, once the signal aborts, or when that is final
 */
async function persist<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  isFinal: (error: unknown) => boolean,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || isFinal(error)) throw error;
      await pause(backoffDelay(failures, RETRY), signal);
      if (signal.aborted) throw error;
    }
  }
}

/** What a task is run with. */
export interface ExecutionDependencies {
  readonly transport: Transport;
  readonly runtime: RuntimeClient;
  readonly settings: Settings;
  /** The tasks that run here, by their {@link scopedId}. */
  readonly claims: Set<string>;
}

/**
 * Runs one delivery to its end. What is stored is stored before the ack, so that a crash at any point means another delivery, which
 * finds in the ledger what was done. Never rejects.
 */
export class Execution {
  readonly #delivery: Delivery;
  readonly #dependencies: ExecutionDependencies;
  readonly #stop: AbortSignal;
  readonly #step: Step;
  readonly #beat: NodeJS.Timeout;
  /** Its place in the queue names it until what it says is read. */
  #name: TaskName;
  /** What it is everywhere except for its owner. */
  #key: string;
  #submitted: SubmittedTask | undefined;
  #replaces: LedgerEntry | undefined;
  #hasClaim = false;
  #acked: Promise<void> = Promise.resolve();

  /** @param stop aborts when the grace time is over */
  constructor(delivery: Delivery, dependencies: ExecutionDependencies, stop: AbortSignal) {
    this.#delivery = delivery;
    this.#dependencies = dependencies;
    this.#stop = stop;
    this.#name = unreadName(delivery);
    this.#key = scopedId(this.#name);
    this.#step = Step.begin(`process ${delivery.subject}`, SpanKind.CONSUMER, delivery.headers, {
      "messaging.system": dependencies.transport.status.kind,
      "messaging.operation.type": "process",
      "messaging.destination.name": delivery.subject,
      "propylon.delivery.attempt": delivery.attempt,
    });
    this.#beat = setTicker(() => delivery.keep(), dependencies.settings.ackWait / 3).unref();
  }

  /** Id of the task, as far as it has one. */
  get id(): string {
    return this.#name.id;
  }

  /** Which delivery of the task this is, from 1. */
  get attempt(): number {
    return this.#delivery.attempt;
  }

  /**
   * Resolves once nothing is left to be stored; for its ack see {@link confirmed}.
   * @param onAnswer called when the runtime is done with it, and its result is on its way into the ledger
   */
  async run(onAnswer: () => void): Promise<Ending> {
    let ending: Ending;
    try {
      ending = await this.#perform(onAnswer);
    } catch (error) {
      ending = await this.#settle(error);
    } finally {
      clearInterval(this.#beat);
      if (this.#hasClaim) this.#dependencies.claims.delete(this.#key);
    }
    const error = "failure" in ending ? ending.failure.reason : undefined;
    this.#step.end({ "a2a.task.id": this.id, "propylon.outcome": ending.outcome }, error);
    return ending;
  }

  /** Waits for the queue's word on the ack. Never rejects: a task whose ack is lost is delivered again, and found in the ledger. */
  confirmed(): Promise<void> {
    return this.#acked;
  }

  /** Nobody begins it: somebody else gets it at once. */
  handBack(): Ending {
    clearInterval(this.#beat);
    this.#delivery.giveBack(0);
    return { outcome: "handed_back", ...this.#name };
  }

  async #perform(onAnswer: () => void): Promise<Ending> {
    const { attempt } = this.#delivery;
    this.#submitted = readSubmittedTask(this.#delivery);
    this.#name = { id: this.#submitted.id, owner: this.#submitted.owner };
    this.#key = scopedId(this.#name);
    this.#claim(this.#key);
    const before = await this.#persist(() => this.#dependencies.transport.find(this.#key));
    if (before && !this.#goesOn(before)) return this.#finish("known");
    this.#replaces = before;
    if (attempt > this.#dependencies.settings.maxDeliver)
      throw new Failure("lost", "The sidecar that ran it ended without a result.");
    const task = await this.#forward(this.#submitted);
    const stored = this.#publish(task);
    onAnswer();
    await stored;
    const { state } = task.status;
    if (state === "completed" || state === "failed") return this.#finish(state);
    return this.#finish(state.endsWith("-required") ? "input_required" : "failed");
  }

  /** After a while without the queue it may deliver to us what we are still at. */
  #claim(key: string): void {
    if (this.#dependencies.claims.has(key)) throw new Failure("busy", "It runs here already.");
    this.#hasClaim = true;
    this.#dependencies.claims.add(key);
  }

  /** Whether the message goes on with a task that waits for somebody, and is not the one that made it wait. */
  #goesOn({ task, message }: LedgerEntry): boolean {
    return task.status.state.endsWith("-required") && message !== messageToken(this.#submitted);
  }

  async #forward(submitted: SubmittedTask): Promise<Task> {
    const { transport, settings } = this.#dependencies;
    const step = this.#step.next("SendMessage", SpanKind.CLIENT, {
      "a2a.method.name": "SendMessage",
      "a2a.task.id": submitted.id,
    });
    const limit = new Limit(this.#stop, settings.timeout);
    const { signal } = limit;
    const { headers } = step;
    const alias = new Alias(submitted, this.#replaces?.task);
    transport.tell(
      this.#key,
      statusEvent(submitted, "working", { attempt: this.#delivery.attempt }),
      headers,
    );
    try {
      const task = await step.run(() =>
        this.#send(alias.request, {
          id: alias.id,
          headers: { ...headers, ...(this.#replaces && { [CONTINUES_HEADER]: "true" }) },
          signal,
          tell: (event) => transport.tell(this.#key, alias.event(event), headers),
        }),
      );
      step.end({ "a2a.task.state": task.status.state });
      return alias.task(task);
    } catch (error) {
      step.end({}, error instanceof Failure ? error.reason : "aborted");
      if (!limit.isLate || this.#stop.aborted) throw error;
      throw new Failure("timeout", `The runtime took longer than ${settings.timeout / 1_000} s.`);
    } finally {
      limit.clear();
    }
  }

  /** A runtime that has no room is asked again within this delivery: to count its refusals would give up tasks that nothing is wrong with. */
  async #send(request: SendMessageRequest, context: SendContext): Promise<Task> {
    const { runtime, settings } = this.#dependencies;
    for (let refusals = 1; ; refusals++) {
      try {
        return await runtime.send(request, context);
      } catch (error) {
        if (!(error instanceof Failure) || error.reason !== "rate_limited") throw error;
        await pause(backoffDelay(refusals, settings.backoff), context.signal);
        if (context.signal.aborted) throw error;
      }
    }
  }

  async #publish(task: Task): Promise<void> {
    const { transport } = this.#dependencies;
    const { id, owner } = this.#name;
    const message = messageToken(this.#submitted);
    const step = this.#step.next(`publish ${id}`, SpanKind.PRODUCER, {
      "messaging.operation.type": "send",
      "a2a.task.id": id,
    });
    const headers = {
      ...step.headers,
      ...(message !== undefined && { [MESSAGE_ID]: message }),
      ...(owner !== undefined && { [OWNER]: writeOwner(owner) }),
    };
    const size = Buffer.byteLength(writeJson(task));
    const room = transport.limit - sizeOf(headers);
    if (size > room) {
      step.end({}, "result_too_large");
      throw tooLarge(size, room);
    }
    const { status, contextId } = task;
    transport.tell(
      this.#key,
      { statusUpdate: { taskId: id, ...(contextId !== undefined && { contextId }), status } },
      headers,
    );
    const key = keyOf("result", this.#name, this.#submitted?.messageId);
    const entry = { task, headers, key, replaces: this.#replaces };
    try {
      await this.#persist(() => transport.record(this.#key, entry));
    } catch (error) {
      throw isTooLarge(error) ? tooLarge(size) : error;
    } finally {
      step.end();
    }
  }

  #finish(outcome: "completed" | "failed" | "input_required" | "known"): Ending {
    this.#acknowledge();
    return { outcome, ...this.#name };
  }

  /** Tried once. */
  #acknowledge(): void {
    this.#acked = this.#delivery.ack().catch(() => {});
  }

  async #settle(error: unknown): Promise<Ending> {
    const name = this.#name;
    const { settings } = this.#dependencies;
    const failure =
      error instanceof Failure
        ? error
        : new Failure("unreachable", "The task was interrupted.", error);
    if (this.#stop.aborted) return this.handBack();
    const { attempt } = this.#delivery;
    if (failure.reason === "busy") {
      this.#delivery.giveBack(settings.ackWait);
      return { outcome: "retried", ...name, failure };
    }
    if (failure.isPassing && attempt < settings.maxDeliver) {
      this.#delivery.giveBack(backoffDelay(attempt, settings.backoff));
      return { outcome: "retried", ...name, failure };
    }
    try {
      await this.#bury(failure);
      return { outcome: "dead", ...name, failure };
    } catch {
      if (this.#stop.aborted) return this.handBack();
      this.#delivery.giveBack(backoffDelay(attempt, settings.backoff));
      return { outcome: "retried", ...name, failure };
    }
  }

  /** Gives the task up: stored as it came, with the reason, and with a failed result. */
  async #bury(failure: Failure): Promise<void> {
    const { transport } = this.#dependencies;
    const { attempt } = this.#delivery;
    const { whole, bare } = lettersOf(this.#delivery, this.#name, failure);
    const fits = whole.data.length + sizeOf(whole.headers) <= transport.limit;
    try {
      await this.#persist(() => transport.bury(fits ? whole : bare));
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      await this.#persist(() => transport.bury(bare));
    }
    const { contextId } = this.#submitted?.request.message ?? {};
    await this.#publish(failedTask(this.id, failure, attempt, contextId));
    this.#acknowledge();
  }

  /** The queue may be away for a while: what has to be stored waits for it. */
  #persist<T>(work: () => Promise<T>): Promise<T> {
    return persist(work, this.#stop, isTooLarge);
  }
}

/** Ids come from anybody, and a header has one line. */
function messageToken(submitted: SubmittedTask | undefined): string | undefined {
  return submitted?.messageId === undefined ? undefined : tokenOf(submitted.messageId);
}

function isTooLarge(error: unknown): boolean {
  return isGatewayError(error) && error.code === "too_large";
}

/** @param room what the queue takes, in bytes, where it says so; a stream of its own limit only refuses */
function tooLarge(size: number, room?: number): Failure {
  const limit = room === undefined ? "the stream of results takes less" : `the queue takes ${room}`;
  return new Failure("result_too_large", `Its result has ${size} bytes; ${limit}.`);
}
