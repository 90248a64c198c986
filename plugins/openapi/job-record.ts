import { GatewayError } from "propylon";
import { toEnvelope } from "propylon/kit";
import { z } from "zod";
import type { Completion, Job } from "./job.ts";

/** Form in which jobs are stored. */
export const jobSchema = z.object({
  id: z.uuid(),
  server: z.string(),
  tool: z.string(),
  owner: z.string(),
  createdAt: z.iso.datetime(),
  status: z.enum(["running", "done", "failed", "cancelled"]),
  endedAt: z.iso.datetime().optional(),
  completion: z.object({ status: z.int().min(100).max(599), body: z.string() }).optional(),
  /** The gateway that runs it, or ran it. */
  gateway: z.string(),
});

/** A job as it is stored. */
export type JobRecord = z.output<typeof jobSchema>;

/** Longest result that is stored, in bytes: a value of the store has at most 4 MiB. */
const MAX_RESULT = 3 * 1024 * 1024;

/** A job as it is, or as it will be with the end that is being written. */
export function jobRecordOf(job: Job, gateway: string): JobRecord {
  const { id, server, tool, owner, createdAt } = job;
  const { status, endedAt, completion } = job.next ?? job;
  return {
    id,
    server,
    tool,
    owner,
    createdAt,
    status: completion && isTooLong(completion) ? "failed" : status,
    endedAt,
    completion: completion && isTooLong(completion) ? tooLong() : completion,
    gateway,
  };
}

/** The job of a record, in the state in which it was written. */
export function restoreJob({ gateway: _gateway, ...record }: JobRecord): Job {
  return {
    ...record,
    endedAt: record.endedAt,
    completion: record.completion,
    abort: new AbortController(),
    progress: undefined,
    expiry: undefined,
    next: undefined,
    writing: undefined,
  };
}

/** How a job ends whose process ended. */
export function interrupted(): Completion {
  return toCompletion(
    new GatewayError("unavailable", "The gateway was restarted while the job was running.", {
      hint: "Whether the tool did its work is not known: look before you make the call again.",
    }),
  );
}

/** A failure as the end of a call. */
export function toCompletion(error: GatewayError): Completion {
  return { status: error.status, body: JSON.stringify(toEnvelope(error)) };
}

function isTooLong({ body }: Completion): boolean {
  return body.length * 3 > MAX_RESULT && Buffer.byteLength(JSON.stringify(body)) > MAX_RESULT;
}

function tooLong(): Completion {
  return toCompletion(
    new GatewayError("too_large", "The result was too large to be kept through a restart.", {
      hint: "Make the call again if that does no harm.",
    }),
  );
}
