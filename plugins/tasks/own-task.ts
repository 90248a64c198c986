import { Answer, GatewayError, isGatewayError, type Json, type Progress } from "propylon";
import { sizeOfEnd, type TaskEnd, toEnd } from "./end.ts";
import { Job } from "./jobs/job.ts";
import type { FinalJobState, JobState } from "./jobs/states.ts";
import {
  type TaskHandle,
  type TaskOutcome,
  type InputRequest,
  type TaskRequest,
  type TaskOrigin,
  ttlOf,
} from "./service.ts";
import { interrupted, type OwnTaskRecord, toStored } from "./task-record.ts";

const NOTHING: ReadonlyMap<string, InputRequest> = new Map();

/** A final state, with all that belongs to it. */
export interface FinalState {
  readonly state: FinalJobState;
  readonly endedAt: string;
  readonly end: TaskEnd | undefined;
}

/** What a task does with the table that has it. */
export interface TaskHome {
  readonly kind: string;
  /** Milliseconds that a task is kept behind its end. */
  readonly ttl: number;
  conclude(task: OwnTask, final: FinalState, persists: boolean): Promise<void>;
  save(task: OwnTask, persists?: boolean): Promise<void>;
  cancel(task: OwnTask): Promise<void>;
  forget(task: OwnTask): Promise<void>;
  drop(task: OwnTask): void;
}

/** A task of this replica, at work or ended. */
export class OwnTask extends Job<FinalState, void, { readonly ref: string }> implements TaskHandle {
  readonly server: string;
  readonly name: string;
  readonly format: string | undefined;
  progress: Progress | undefined;
  questions = NOTHING;
  /** The task of its server that it stands for. */
  origin: TaskOrigin | undefined;
  /** Whether the gateway ends before it. */
  isResting = false;
  readonly #home: TaskHome;
  #request: Pick<TaskRequest, "cancel" | "answer"> | undefined;
  #updatedAt: string;

  /** @param given what is begun, or what a process before had begun */
  constructor(home: TaskHome, given: TaskRequest | OwnTaskRecord) {
    const isNew = "principal" in given;
    super(isNew ? { owner: given.principal } : { ...given, owner: { ref: given.owner } });
    this.#home = home;
    this.#request = isNew ? given : undefined;
    this.server = given.server;
    this.name = given.name;
    this.format = given.format;
    this.origin = given.origin;
    this.#updatedAt = this.createdAt;
    if (!isNew && given.state !== "working") this.settle(finalOf(given));
  }

  get kind(): string {
    return this.#home.kind;
  }

  get state(): JobState {
    return this.final?.state ?? (this.questions.size > 0 ? "input_required" : "working");
  }

  get message(): string | undefined {
    return this.isOver ? undefined : this.progress?.message;
  }

  get updatedAt(): string {
    return this.#updatedAt;
  }

  get ttl(): number {
    return ttlOf(this, this.#home.ttl);
  }

  get bytes(): number {
    return sizeOfEnd(this.end);
  }

  report(progress: Progress): void {
    if (this.isOver) return;
    this.progress = progress;
    this.#updatedAt = new Date().toISOString();
  }

  ask(questions: ReadonlyMap<string, InputRequest>): void {
    if (this.isOver) return;
    this.questions = questions;
    this.#updatedAt = new Date().toISOString();
    this.tell();
  }

  answer(responses: Json): void {
    if (!this.isOver) this.#request?.answer?.(responses);
  }

  async finish(outcome: TaskOutcome): Promise<void> {
    if (this.isResting) return;
    const end = isShutdown(outcome) ? interrupted() : toEnd(outcome);
    const state = outcome instanceof Answer && !outcome.isRpcError ? "completed" : "failed";
    // What was cancelled or written meanwhile comes first.
    while (this.ending) await this.ending;
    const final = { state, endedAt: new Date().toISOString(), end } as const;
    // When everything ends it stays as it was written last, and the next process tells that.
    await this.#home.conclude(this, final, true).catch(() => {});
  }

  async goesOn(origin: TaskOrigin): Promise<void> {
    if (this.isOver) return;
    this.origin = origin;
    await this.#home.save(this).catch(() => {});
  }

  /** Somebody works on it again. */
  adopt(request: Pick<TaskRequest, "cancel" | "answer">): void {
    this.#request = request;
  }

  /** The gateway ends, and the work goes on at its server. */
  rest(): void {
    this.isResting = true;
    this.#request?.cancel(new GatewayError("draining", "The gateway is shutting down."));
  }

  cancel(): Promise<void> {
    return this.#home.cancel(this);
  }

  forget(): Promise<void> {
    return this.#home.forget(this);
  }

  drop(): void {
    this.#home.drop(this);
  }

  override settle(final: FinalState): void {
    super.settle(final);
    this.questions = NOTHING;
    this.#updatedAt = final.endedAt;
  }

  /** Ends the work. */
  abort(): void {
    this.#request?.cancel(new GatewayError("cancelled", "The task was cancelled."));
  }

  /** As it is, or as it will be with the end that is being written. */
  toRecord(replica: string): OwnTaskRecord {
    const { id, owner, server, name, format, createdAt } = this;
    const { state = "working", endedAt, end } = this.recorded ?? {};
    const origin = state === "working" ? this.origin : undefined;
    return {
      id,
      owner: owner.ref,
      server,
      name,
      format,
      state,
      createdAt,
      endedAt,
      end: end && toStored(end),
      origin,
      replica,
    };
  }
}

/** What the end of the gateway cut off is told like what a kill cut off. */
function isShutdown(outcome: TaskOutcome): boolean {
  return isGatewayError(outcome) && outcome.code === "draining";
}

/** The end that a record tells. */
export function finalOf({ state, endedAt, createdAt, end }: OwnTaskRecord): FinalState {
  return { state: state as FinalState["state"], endedAt: endedAt ?? createdAt, end };
}
