import { randomUUID } from "node:crypto";
import { GatewayError, isGatewayError, type Principal } from "propylon";
import { digestOf, FIRST_PROBLEM, pause, setTicker, writeJson, parseExact } from "propylon/kit";
import { keepPrincipal, type KeptPrincipal } from "propylon/internal";
import type { QueueDelivery, WorkQueue } from "propylon/store";
import type { Logger } from "pino";
import { z } from "zod";
import type { SendOptions } from "../../service.ts";
import { jsonSize } from "../../json-size.ts";
import type { LiveTask } from "../task/live-task.ts";
import { CALL_GONE, LOST, lostTooOften, NOT_LET_IN } from "../task/refusals.ts";
import { isUnderWay, type Queued, type TaskRecord } from "../task/task-record.ts";
import { taskKey, type TaskRecords } from "../task/task-records.ts";

/** How often it is said that a task is still worked on, in milliseconds: a third of what the queue waits for. */
const KEEP_MS = 2_000;
/** A delivery that cannot be taken now comes again after this, in milliseconds. */
const AGAIN_MS = 1_000;
/** What waits is looked up so often at most, in milliseconds: once for many tasks. */
const LOOK_MS = 1_000;
/** How often a task is begun. One that ends its replica each time would end them all, one after the other. */
const MAX_RUNS = 5;

/** What stands in the queue: where the task is, and for which delivery. */
const pieceSchema = z.object({ key: z.string(), ticket: z.string() });

/** What the tasks of this runtime offer their queue. */
export interface QueueWorkerHost {
  readonly queue: WorkQueue;
  readonly records: TaskRecords;
  readonly log: Logger;
  /** Who a sender is by now; `undefined`: nobody who is let in. */
  renew(sender: KeptPrincipal): Principal | undefined;
  /** Resolves when there is a place for one more; whatever it is when the signal aborts. */
  room(signal: AbortSignal): Promise<void>;
  /** A task of this replica. */
  restore(record: TaskRecord): LiveTask;
  /** Works on the last message of a task; resolves when nothing of it goes on. */
  work(task: LiveTask, options: Pick<SendOptions, "principal" | "meta">): Promise<void>;
  /** Ends a task whose work is not begun. */
  refuse(task: LiveTask, reason: GatewayError): Promise<void>;
  /** Forgets a task that another replica goes on with. */
  forget(task: LiveTask): void;
  /** Calls back when any replica wrote the task of a key. @returns ends that */
  onWrite(key: string, listener: () => void): () => void;
  /** Whether this replica ends. */
  isDraining(): boolean;
  /** Tells how a delivery ended. */
  count(outcome: DeliveryOutcome): void;
}

/** How a delivery ended. */
export type DeliveryOutcome = "done" | "refused" | "stale" | "lost" | "given_back";

/** Tasks that any replica works on: handed out one at a time, each to a replica that has room. */
export class QueueWorker {
  readonly #host: QueueWorkerHost;
  readonly #leaving = new AbortController();
  /** At work here, by key. */
  readonly #running = new Map<string, LiveTask | undefined>();
  #tickets: Promise<ReadonlySet<string>> = Promise.resolve(new Set<string>());
  #lookedAt = -Infinity;

  constructor(host: QueueWorkerHost) {
    this.#host = host;
  }

  /** Begins to take tasks. @returns takes no more; what is at work here goes on */
  start(): () => void {
    void this.#pull();
    return () => this.#leaving.abort();
  }

  /** How a task with its last message waits from now on. */
  static ticketFor(
    taken: number,
    { principal, meta }: Pick<SendOptions, "principal" | "meta">,
  ): Queued {
    return {
      ticket: randomUUID(),
      runs: 0,
      taken,
      sender: keepPrincipal(principal),
      ...(meta !== undefined && { meta }),
    };
  }

  /** Hands a task out that is in the store. One that is not handed out at once is as soon as the store answers. */
  async put(record: TaskRecord): Promise<void> {
    await this.#add(record).catch(() => void this.#addLater(record));
  }

  /** A write of which no answer came: when the task is there after all, it is handed out. */
  async putIfThere(record: TaskRecord): Promise<void> {
    await this.#again(async () => {
      const entry = await this.#host.records.entry(keyOfRecord(record));
      if (entry?.value.queued?.ticket === record.queued?.ticket) await this.#add(record);
    });
  }

  /** Hands a task out again that waits in the store, and not in the queue: its replica died in between. */
  async putBack(record: TaskRecord): Promise<void> {
    const { records } = this.#host;
    if ((await this.#waiting()).has(record.queued!.ticket)) return;
    const entry = await records.entry(keyOfRecord(record));
    if (entry?.value.queued?.ticket !== record.queued!.ticket) return;
    const queued = { ...record.queued!, ticket: randomUUID() };
    const waiting = { ...entry.value, replica: "", queued };
    if ((await records.swap(waiting, entry.rev)) !== undefined) await this.put(waiting);
  }

  /** Gives tasks at work here to others, which begin them again; what is still done about them here counts no more. */
  handBack(): void {
    this.#leaving.abort();
    for (const task of this.#running.values()) if (task) task.isForeign = true;
  }

  /** Tickets of all that was not acked, as they were a moment ago. */
  #waiting(): Promise<ReadonlySet<string>> {
    const now = performance.now();
    if (now - this.#lookedAt > LOOK_MS) {
      this.#lookedAt = now;
      this.#tickets = this.#host.queue
        .items()
        .then((items) => new Set(items.map(({ key }) => key)));
    }
    return this.#tickets;
  }

  #add(record: TaskRecord): Promise<void> {
    const { ticket } = record.queued!;
    const piece: z.output<typeof pieceSchema> = { key: keyOfRecord(record), ticket };
    const item = {
      key: ticket,
      group: groupOf(record.owner),
      size: jsonSize(record.task.history) ?? 0,
    };
    return this.#host.queue.add(item, writeJson(piece));
  }

  #addLater(record: TaskRecord): Promise<void> {
    return this.#again(() => this.#add(record));
  }

  /** Until the store answers, or this replica leaves: then the eldest of the others finds the task. */
  async #again(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#leaving;
    while (!signal.aborted) {
      try {
        return await work();
      } catch {
        await pause(AGAIN_MS * (0.5 + Math.random()), signal);
      }
    }
  }

  async #pull(): Promise<void> {
    const { signal } = this.#leaving;
    while (!signal.aborted) {
      try {
        await this.#host.room(signal);
        const delivery = await this.#host.queue.next(signal);
        // It came in the moment we stopped.
        if (signal.aborted) delivery?.giveBack(0);
        // One is begun after the other, so that each finds out whether there is room.
        else if (delivery) await new Promise<void>((begun) => void this.#take(delivery, begun));
      } catch {
        await pause(AGAIN_MS, signal);
      }
    }
  }

  /** @param begun called when it has taken its place, or needs none */
  async #take(delivery: QueueDelivery, begun: () => void): Promise<void> {
    const piece = readPiece(delivery.text);
    const beat = setTicker(() => delivery.keep(), KEEP_MS);
    let outcome: DeliveryOutcome = "stale";
    try {
      if (piece) outcome = await this.#perform(piece, begun);
    } catch (err) {
      outcome = "given_back";
      if (!isGatewayError(err)) this.#host.log.error({ err }, "a task of the queue was not begun");
    }
    clearInterval(beat);
    begun();
    this.#host.count(outcome);
    // The replica that goes on with a lost task has a delivery of its own; to ack this one would remove it.
    if (outcome === "lost") return;
    if (outcome === "given_back") return delivery.giveBack(this.#host.isDraining() ? 0 : AGAIN_MS);
    // A task whose ack is lost is delivered again, and found ended.
    await delivery.ack().catch(() => {});
  }

  async #perform(
    { key, ticket }: z.output<typeof pieceSchema>,
    begun: () => void,
  ): Promise<DeliveryOutcome> {
    // It was delivered again because this replica stood still for a moment.
    if (this.#running.has(key)) return "given_back";
    this.#running.set(key, undefined);
    try {
      const entry = await this.#host.records.entry(key);
      if (entry?.value.queued?.ticket !== ticket || !isUnderWay(entry.value)) return "stale";
      const { queued } = entry.value;
      const replica = this.#host.records.replica;
      const claimed = { ...entry.value, replica, queued: { ...queued, runs: queued.runs + 1 } };
      // The replica that had it before is refused from here on: what it writes is over another revision.
      const rev = await this.#host.records.swap(claimed, entry.rev);
      if (rev === undefined) return "given_back";
      const task = this.#host.restore(claimed);
      this.#running.set(key, task);
      const unwatch = this.#host.onWrite(key, () => void this.#look(key, task, claimed));
      const working = this.#work(task, entry.value).finally(unwatch);
      begun();
      const outcome = await working;
      // A run that a shutdown ended does not count. One whose call asked is changed by now, and stays.
      if (outcome === "given_back") await this.#host.records.swap(entry.value, rev);
      return outcome;
    } finally {
      this.#running.delete(key);
    }
  }

  /** Another replica that has the task by now begins it again: the work here ends, and nobody hears of it. */
  async #look(key: string, task: LiveTask, { replica, queued }: TaskRecord): Promise<void> {
    if (task.isSettled) return;
    const value = (await this.#host.records.entry(key).catch(() => undefined))?.value;
    const isOwn = value?.replica === replica && value.queued?.ticket === queued!.ticket;
    if (!value || isOwn || task.isSettled || !isUnderWay(value)) return;
    task.isForeign = true;
    task.cancellation.abort(LOST);
  }

  async #work(task: LiveTask, before: TaskRecord): Promise<DeliveryOutcome> {
    const { sender, meta } = before.queued!;
    const principal = this.#host.renew(sender);
    const refusal = refusalOf(before, principal);
    if (refusal) await this.#host.refuse(task, refusal);
    else await this.#host.work(task, { principal: principal!, meta });
    await task.confirmed;
    if (!task.isForeign) return refusal ? "refused" : "done";
    this.#host.forget(task);
    return this.#host.isDraining() ? "given_back" : "lost";
  }
}

/** Whose tasks are counted together. */
export function groupOf(ref: string): string {
  return digestOf(ref).slice(0, 32);
}

/** Why the work on a task is not begun. */
function refusalOf(
  { isAsking, taken, queued }: TaskRecord,
  principal: Principal | undefined,
): GatewayError | undefined {
  const { runs, taken: begun } = queued!;
  if (runs >= MAX_RUNS) return lostTooOften(runs);
  // The call that asked is gone, and so is what it was told.
  if (isAsking || taken.length > begun) return CALL_GONE;
  return principal ? undefined : NOT_LET_IN;
}

function keyOfRecord({ owner, task }: TaskRecord): string {
  return taskKey({ ref: owner }, task.id);
}

/** Only replicas write there; any other text is dropped. */
function readPiece(text: string): z.output<typeof pieceSchema> | undefined {
  try {
    return pieceSchema.parse(parseExact(text), FIRST_PROBLEM);
  } catch {
    return undefined;
  }
}
