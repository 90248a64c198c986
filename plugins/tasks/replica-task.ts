import type { Json, Progress } from "propylon";
import { boundedRecord, FIRST_PROBLEM } from "propylon/kit";
import type { Store } from "propylon/store";
import { z } from "zod";
import { type JobQuestion, JobQuestions } from "./jobs/job-questions.ts";
import { JOB_STATES, type JobState } from "./jobs/states.ts";
import { type SharedTask, ttlOf } from "./service.ts";
import type { OwnTaskRecord } from "./task-record.ts";

const jsonSchema = boundedRecord(z.string(), z.unknown(), 10_000);

const viewSchema = z.object({
  state: z.enum(Object.keys(JOB_STATES) as JobState[]),
  updatedAt: z.string(),
  progress: z
    .object({
      progress: z.number(),
      total: z.number().optional(),
      message: z.string().optional(),
    })
    .optional(),
  questions: z
    .array(z.tuple([z.string(), z.object({ method: z.string(), params: jsonSchema.optional() })]))
    .max(1_000),
});

/** How a task at work is, beyond what is stored of it. */
export type ReplicaView = z.output<typeof viewSchema>;

const bodySchema = z.object({ kind: z.string(), responses: jsonSchema.optional() });

/** Questions between replicas about tasks at work. */
export type TaskQuestions = JobQuestions<ReplicaView>;

export function taskQuestions(store: Store): TaskQuestions {
  return new JobQuestions(store, viewSchema);
}

/** Does what another replica asks about a task here. */
export async function answerQuestion(
  { id, asker, verb, body }: JobQuestion,
  find: (kind: string, id: string, owner: string) => SharedTask | undefined,
): Promise<ReplicaView | undefined> {
  const { kind, responses } = bodySchema.parse(body, FIRST_PROBLEM);
  const task = find(kind, id, asker.ref);
  if (verb === "cancel") await task?.cancel();
  if (verb === "answer") await task?.answer(responses ?? {});
  if (!task) return undefined;
  const { state, updatedAt, progress, questions } = task;
  return { state, updatedAt, progress, questions: [...questions] as ReplicaView["questions"] };
}

/**
 * A task that is at work at another replica.
 *
 * @param of its kind, how long it is kept behind its end, and what tells when its record is written
 * @returns `undefined`: it has just ended
 */
export async function showReplicaTask(
  { id, owner, replica, server, name, format, createdAt }: OwnTaskRecord,
  { kind, ttl, watch }: Pick<SharedTask, "kind" | "ttl" | "watch">,
  questions: TaskQuestions,
): Promise<SharedTask | undefined> {
  let view = undefined as ReplicaView | undefined;
  const asker = { ref: owner, roles: [] };
  const ask = async (verb: JobQuestion["verb"], responses?: Json): Promise<void> =>
    void (view = await questions.ask(replica, { id, asker, verb, body: { kind, responses } }));
  // One that cannot be asked now is told as it was stored.
  await ask("look").catch(() => {});
  if (view && JOB_STATES[view.state].isFinal) return undefined;
  return {
    id,
    kind,
    server,
    name,
    format,
    createdAt,
    get state() {
      return view?.state ?? "working";
    },
    get message() {
      return view?.progress?.message;
    },
    get progress() {
      return view?.progress as Progress | undefined;
    },
    get updatedAt() {
      return view?.updatedAt ?? createdAt;
    },
    get endedAt() {
      return view && JOB_STATES[view.state].isFinal ? view.updatedAt : undefined;
    },
    get ttl() {
      return ttlOf({ createdAt }, ttl);
    },
    get questions() {
      return new Map(view?.questions);
    },
    cancel: () => ask("cancel"),
    answer: (responses) => ask("answer", responses),
    watch,
  };
}
