import { type GatewayError, toGatewayError } from "propylon";
import { writeJson } from "propylon/kit";
import { toEnvelope } from "propylon/internal";
import {
  answerOfEnd,
  JOB_STATES,
  type SharedTask,
  type TaskEnd,
  type TaskLimits,
} from "propylon/plugins/tasks";
import { FORMATS, type Format, type OpenapiOptions } from "../options.ts";
import { failureOf, renderResult } from "./reply.ts";

/** How a call ended, ready to be sent. */
export interface Completion {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
}

/** A failure as the end of a call. */
export function toCompletion(error: GatewayError): Completion {
  return { status: error.status, body: writeJson(toEnvelope(error)) };
}

/** A task as jobs are shown, as JSON text. */
export function renderJob(task: SharedTask, options: Pick<OpenapiOptions, "format">): string {
  const { id, server, name: tool, state, createdAt, endedAt, progress, end } = task;
  const format = FORMATS.find((known) => known === task.format) ?? options.format;
  const completion = end && complete(end, format);
  const head = writeJson({
    id,
    server,
    tool,
    status: completion && completion.status >= 400 ? "failed" : JOB_STATES[state].http,
    createdAt,
    ...(endedAt !== undefined && { endedAt }),
    ...(progress && { progress }),
    ...(completion && { httpStatus: completion.status }),
  });
  const answer = completion ? `,"answer":${completion.body}` : "";
  return `{"ok":true,"job":${head.slice(0, -1)}${answer}}}`;
}

/** What the options say of jobs, as bounds of tasks. */
export function jobLimits({ maxJobs, maxSize, ttl }: OpenapiOptions["jobs"]): TaskLimits {
  return {
    maxRunning: maxJobs,
    maxRunningEach: maxJobs,
    maxTasks: maxJobs,
    maxTasksEach: maxJobs,
    maxTaskSize: Infinity,
    maxTotalSize: maxSize,
    maxTotalSizeEach: maxSize,
    ttl,
    evicts: true,
  };
}

function complete(end: TaskEnd, format: Format): Completion {
  try {
    const answer = answerOfEnd(end);
    const failure = failureOf(answer);
    return failure
      ? toCompletion(failure)
      : { status: 200, body: renderResult(answer.result!, format) };
  } catch (error) {
    return toCompletion(toGatewayError(error));
  }
}
