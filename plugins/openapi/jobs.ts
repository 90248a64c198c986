import { randomUUID } from "node:crypto";
import { GatewayError, type Principal, type Progress } from "propylon";
import { setTimer } from "propylon/kit";
import type { OpenapiOptions } from "./options.ts";

/** How a call ended, ready to be sent. */
export interface Completion {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
}

/** What runs a job: reports progress until it has its end, which never rejects. */
export type JobWork = (
  signal: AbortSignal,
  progress: (report: Progress) => void,
) => Promise<Completion>;

/** One call that is answered later. */
export interface Job {
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly createdAt: string;
  readonly owner: string;
  readonly abort: AbortController;
  status: "running" | "done" | "failed" | "cancelled";
  progress: Progress | undefined;
  endedAt: string | undefined;
  completion: Completion | undefined;
  expiry: NodeJS.Timeout | undefined;
}

/** Calls that are answered later: bounded in number and bytes, forgotten after a while, each its maker's own. */
export class Jobs {
  limits: OpenapiOptions["jobs"];
  readonly #jobs = new Map<string, Job>();
  #bytes = 0;

  constructor(limits: OpenapiOptions["jobs"]) {
    this.limits = limits;
  }

  /**
   * Starts a job.
   *
   * @throws {GatewayError} `rate_limited` when as many as allowed are running
   */
  start(target: Pick<Job, "server" | "tool">, principal: Principal, work: JobWork): Job {
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
    };
    this.#jobs.set(job.id, job);
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
  get(id: string, principal: Principal): Job {
    const job = this.#jobs.get(id);
    if (job && job.owner === principal.ref) return job;
    throw new GatewayError("not_found", "There is no such job.", {
      hint: "Finished jobs are forgotten after a while; make the call again.",
    });
  }

  /** Cancels a job that runs, forgets one that ended. */
  remove(job: Job): void {
    if (job.status === "running") this.#cancel(job);
    else this.#forget(job);
  }

  /** Cancels every job that runs. */
  cancelAll(): void {
    for (const job of this.#jobs.values()) if (job.status === "running") this.#cancel(job);
  }

  /** Cancels and forgets everything. */
  clear(): void {
    this.cancelAll();
    for (const job of this.#jobs.values()) this.#forget(job);
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

  #cancel(job: Job): void {
    this.#end(job, "cancelled");
    job.abort.abort(new GatewayError("cancelled", "The job was cancelled."));
  }

  #finish(job: Job, completion: Completion): void {
    // It may have been cancelled or forgotten meanwhile.
    if (job.status !== "running") return;
    job.completion = completion;
    this.#bytes += sizeOf(job);
    this.#end(job, completion.status < 400 ? "done" : "failed");
    this.#shrink();
  }

  #end(job: Job, status: Job["status"]): void {
    job.status = status;
    job.endedAt = new Date().toISOString();
    job.expiry = setTimer(() => this.#forget(job), this.limits.ttl);
    job.expiry.unref();
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
  }
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
