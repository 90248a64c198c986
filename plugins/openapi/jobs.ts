import { randomUUID } from "node:crypto";
import { GatewayError, type Principal, type Progress } from "propylon";
import { Records, setTimer, within, type Kv, type Store } from "propylon/kit";
import type { Completion, Job, JobState } from "./job.ts";
import { interrupted, jobSchema, restoreJob, jobRecordOf, type JobRecord } from "./job-record.ts";
import type { OpenapiOptions } from "./options.ts";

/** How long the last ends may take to be written when everything ends, in milliseconds. */
const CLOSE_MS = 1_000;

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** What runs a job: reports progress until it has its end, which never rejects. */
export type JobWork = (
  signal: AbortSignal,
  progress: (report: Progress) => void,
) => Promise<Completion>;

/**
 * Calls that are answered later: bounded in number and bytes, forgotten after a while, each its maker's own. Where the gateway has a
 * store that outlives its process nothing is told that is not stored.
 */
export class Jobs {
  limits: OpenapiOptions["jobs"];
  readonly #store: Store;
  readonly #end = new AbortController();
  readonly #records: Records<JobRecord>;
  readonly #kv: Kv<JobRecord>;
  readonly #jobs = new Map<string, Job>();
  #bytes = 0;
  #isLoaded = false;

  constructor(limits: OpenapiOptions["jobs"], store: Store) {
    const options = { schema: jobSchema };
    this.limits = limits;
    this.#store = store;
    this.#kv = store.kv("jobs", options);
    this.#records = new Records(store, "jobs", { ...options, signal: this.#end.signal });
  }

  /** Takes in the jobs of processes before, once: those that ran then have failed. */
  async load(): Promise<void> {
    if (this.#isLoaded || !this.#store.durable) return;
    const living = await this.#livingGateways();
    const found: JobRecord[] = [];
    for await (const { value } of this.#records.load())
      if (value.endedAt !== undefined || !living.has(value.gateway)) found.push(value);
    for (const record of found.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1)))
      this.#restore(record);
    this.#isLoaded = true;
    while (this.#jobs.size > this.limits.maxJobs && this.#oldestEnded())
      this.#forget(this.#oldestEnded()!);
    this.#shrink();
  }

  /**
   * Starts a job.
   *
   * @throws {GatewayError} `rate_limited` when as many as allowed are running; `unavailable`: nothing was started
   */
  async start(
    target: Pick<Job, "server" | "tool">,
    principal: Principal,
    work: JobWork,
  ): Promise<Job> {
    this.#makeRoom();
    const job: Job = {
      ...target,
      id: randomUUID(),
      createdAt: new Date().toISOString(),
      owner: principal.ref,
      abort: new AbortController(),
      status: "running",
      progress: undefined,
      endedAt: undefined,
      completion: undefined,
      expiry: undefined,
      next: undefined,
      writing: undefined,
    };
    this.#jobs.set(job.id, job);
    if (this.#store.durable) await this.#confirm(job);
    void work(job.abort.signal, (report) => void (job.progress = report)).then((completion) =>
      this.#finish(job, completion),
    );
    return job;
  }

  /**
   * A job of this principal.
   *
   * @throws {GatewayError} `not_found`, also for one of somebody else
   */
  async get(id: string, principal: Principal): Promise<Job> {
    const job = this.#jobs.get(id) ?? (await this.#findElsewhere(id));
    if (job && job.owner === principal.ref) return job;
    throw new GatewayError("not_found", "There is no such job.", {
      hint: "Finished jobs are forgotten after a while; make the call again.",
    });
  }

  /**
   * Cancels a job that runs, forgets one that ended.
   *
   * @throws {GatewayError} `unavailable`: it is as it was; `exists` for one that runs at another gateway
   */
  async remove(job: Job): Promise<void> {
    if (job.status === "running" && !this.#jobs.has(job.id))
      throw new GatewayError("exists", "The job is running at another gateway.", {
        hint: "Wait for its end.",
      });
    // Its end may be about to be written.
    if (job.writing) await this.#save(job, false);
    if (job.status === "running") return this.#cancel(job);
    await this.#records.delete(job.id, { persists: false });
    this.#forget(job);
  }

  /** Ends every job that runs: cancelled, or failed with a reason where it will be found. */
  cancelAll(): void {
    for (const job of this.#jobs.values()) {
      if (job.status !== "running") continue;
      if (this.#store.durable) this.#interrupt(job);
      else this.#settle(job, stateOf("cancelled"));
      job.abort.abort(new GatewayError("cancelled", "The job was cancelled."));
    }
  }

  /** Ends everything; what is stored stays. */
  async close(): Promise<void> {
    this.cancelAll();
    for (const job of this.#jobs.values()) clearTimeout(job.expiry);
    const writes = [...this.#jobs.values()].map((job) => job.writing ?? Promise.resolve());
    await within(Promise.allSettled(writes), CLOSE_MS);
    this.#end.abort();
    this.#jobs.clear();
    this.#bytes = 0;
  }

  /** The oldest that ended makes way. */
  #makeRoom(): void {
    if (this.#jobs.size < this.limits.maxJobs) return;
    const ended = this.#oldestEnded();
    if (!ended)
      throw new GatewayError("rate_limited", `${this.limits.maxJobs} jobs are running already.`, {
        hint: "Wait for one of them, or cancel it.",
        headers: { "retry-after": "5" },
      });
    this.#forget(ended);
  }

  #oldestEnded(): Job | undefined {
    for (const job of this.#jobs.values()) if (job.status !== "running") return job;
    return undefined;
  }

  async #confirm(job: Job): Promise<void> {
    try {
      await this.#save(job, false);
    } catch (error) {
      this.#forget(job);
      throw error;
    }
  }

  async #cancel(job: Job): Promise<void> {
    await this.#conclude(job, stateOf("cancelled"), false);
    job.abort.abort(new GatewayError("cancelled", "The job was cancelled."));
  }

  async #finish(job: Job, completion: Completion): Promise<void> {
    const state = stateOf(completion.status < 400 ? "done" : "failed", completion);
    while (job.writing) await job.writing.catch(() => {});
    // When everything ends it stays as it was written last, and the next process tells that.
    await this.#conclude(job, state, true).catch(() => {});
  }

  /** Writes an end down, and then lets it count. It may have been cancelled or forgotten meanwhile. */
  async #conclude(job: Job, state: JobState, persists: boolean): Promise<void> {
    if (job.status !== "running") return;
    if (this.#store.durable) {
      job.next = state;
      job.writing = this.#save(job, persists);
      try {
        await job.writing;
      } finally {
        job.writing = undefined;
        job.next = undefined;
      }
    }
    if (job.status === "running" && this.#jobs.has(job.id)) this.#settle(job, state);
  }

  #interrupt(job: Job): void {
    this.#settle(job, stateOf("failed", interrupted()));
    const writing = this.#save(job, true).catch(() => {});
    job.writing = writing.finally(() => (job.writing = undefined));
  }

  #settle(job: Job, { status, endedAt, completion }: JobState): void {
    job.status = status;
    job.endedAt = endedAt;
    job.completion = completion;
    this.#bytes += sizeOf(job);
    this.#expire(job);
    this.#shrink();
  }

  #expire(job: Job): void {
    const left = Date.parse(job.endedAt!) + this.limits.ttl - Date.now();
    job.expiry = setTimer(() => this.#forget(job), Math.max(0, left));
    job.expiry.unref();
  }

  #restore(record: JobRecord): void {
    const job = restoreJob(record);
    this.#jobs.set(job.id, job);
    if (job.endedAt === undefined) return this.#interrupt(job);
    this.#bytes += sizeOf(job);
    this.#expire(job);
  }

  /** A job of another gateway of the store, as it was stored last. */
  async #findElsewhere(id: string): Promise<Job | undefined> {
    if (!this.#store.shared || !UUID.test(id)) return undefined;
    const entry = await this.#kv.get(id);
    if (!entry) return undefined;
    const isLost =
      entry.value.endedAt === undefined && !(await this.#livingGateways()).has(entry.value.gateway);
    if (!isLost) return restoreJob(entry.value);
    this.#records.adopt(entry);
    this.#restore(entry.value);
    return this.#jobs.get(id);
  }

  async #livingGateways(): Promise<ReadonlySet<string>> {
    const all = this.#store.shared ? await this.#store.replicas() : [];
    return new Set(all.map(({ id }) => id).filter((id) => id !== this.#store.replica));
  }

  #save(job: Job, persists: boolean): Promise<void> {
    return this.#records.save(job.id, () => jobRecordOf(job, this.#store.replica), { persists });
  }

  /** Results beyond the bytes allowed are dropped, oldest first; the last one stays, or nobody could fetch a large one. */
  #shrink(): void {
    while (this.#bytes > this.limits.maxSize) {
      const ended = [...this.#jobs.values()].filter(({ completion }) => completion !== undefined);
      if (ended.length <= 1) return;
      this.#forget(ended[0]!);
    }
  }

  #forget(job: Job): void {
    clearTimeout(job.expiry);
    if (this.#jobs.delete(job.id)) this.#bytes -= sizeOf(job);
    void this.#records.delete(job.id);
  }
}

function stateOf(status: JobState["status"], completion?: Completion): JobState {
  return { status, endedAt: new Date().toISOString(), completion };
}

function sizeOf({ completion }: Job): number {
  return completion ? Buffer.byteLength(completion.body) : 0;
}

/** A job as JSON text; its end is embedded as it was written. */
export function renderJob({
  id,
  server,
  tool,
  status,
  createdAt,
  endedAt,
  progress,
  completion,
}: Job): string {
  const head = JSON.stringify({
    id,
    server,
    tool,
    status,
    createdAt,
    ...(endedAt !== undefined && { endedAt }),
    ...(progress && { progress }),
    ...(completion && { httpStatus: completion.status }),
  });
  const answer = completion ? `,"answer":${completion.body}` : "";
  return `{"ok":true,"job":${head.slice(0, -1)}${answer}}}`;
}
