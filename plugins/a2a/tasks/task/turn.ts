import { randomUUID } from "node:crypto";
import {
  GatewayError,
  isGatewayError,
  toGatewayError,
  type Answer,
  type Json,
  type PluginContext,
  type Progress,
} from "propylon";
import { type Cancellation, setTimer, writeJson } from "propylon/kit";
import { type Abortable, wordsOf, fromContent } from "propylon/internal";
import type { Part, TaskState } from "propylon/contract";
import type { Logger } from "pino";
import type { SendOptions } from "../../service.ts";
import { OWN_SERVER, type Skill } from "./skills.ts";
import type { LiveTask } from "./live-task.ts";
import { TaskPeer } from "./peer.ts";
import { traceTurn } from "./trace.ts";
import type { Work } from "./work.ts";

/** What the work on one message needs. */
export interface TurnContext {
  /** How the message was sent. */
  readonly sent: Pick<SendOptions, "meta" | "signal" | "principal">;
  readonly skill: Skill | undefined;
  readonly dependencies: {
    readonly call: PluginContext["call"];
    readonly options: { readonly cancelTimeout: number };
    readonly log: Logger;
  };
  /** Where our own tools find the work that a call is about. */
  readonly works: Map<string, Work>;
  isDraining(): boolean;
}

/** How the work on a message ended. */
export interface WorkEnd {
  readonly state: TaskState;
  readonly parts?: readonly Part[] | undefined;
  readonly metadata?: Json | undefined;
}

/** Has one message worked on by one call through the pipeline. Never rejects. */
export function callSkill(task: LiveTask, work: Work, context: TurnContext): Promise<WorkEnd> {
  return traceTurn(task, context.sent.meta, (meta) => perform(task, work, context, meta));
}

async function perform(
  task: LiveTask,
  work: Work,
  context: TurnContext,
  meta: Json | undefined,
): Promise<WorkEnd> {
  const { cancellation } = task;
  const { options, log } = context.dependencies;
  const forget = follow(context.sent.signal, task);
  const key = randomUUID();
  if (task.state === "submitted") task.move("working");
  try {
    const calling = makeCall(task, work, key, context, meta);
    // Everyone in the pipeline heeds the signal, or is raced against it, except for a middleware that does neither.
    const answer = await orAborted(calling, cancellation, options.cancelTimeout);
    task.withdraw();
    const end = endOf(work, answer);
    // A completed task has an artifact, even where there was nothing to say.
    if (end.state === "completed" && !work.hasWritten)
      task.write({ parts: resultOf(answer), lastChunk: true });
    if (end.state === "completed") task.close();
    if (task.fault) throw task.fault;
    return end;
  } catch (thrown) {
    task.withdraw();
    if (!isGatewayError(thrown))
      log.error({ err: thrown, task: task.id, skill: task.skill }, "a task failed");
    return endOfThrown(thrown, task, context.isDraining());
  } finally {
    context.works.delete(key);
    forget();
  }
}

async function makeCall(
  task: LiveTask,
  work: Work,
  key: string,
  { skill, sent, dependencies, works }: TurnContext,
  meta: Json | undefined,
): Promise<Answer> {
  const { cancellation } = task;
  if (!skill) throw new GatewayError("not_found", "The skill of this task is gone.");
  if (cancellation.aborted) throw toGatewayError(cancellation.reason);
  const peer = new TaskPeer(task, { key, asks: skill.options.asks });
  work.sender = peer;
  const { server, name, args, timeout } = skill.target(work);
  if (server === OWN_SERVER) works.set(key, work);
  return dependencies.call({
    server,
    name,
    args,
    timeout,
    source: "a2a",
    principal: sent.principal,
    meta,
    cancellation,
    peer,
    progress: (report) => tellProgress(work, report),
  });
}

function tellProgress(work: Work, { progress, total, message }: Progress): void {
  const amount = total === undefined ? `${progress}` : `${progress}/${total}`;
  work.status([{ text: message ?? amount }], {
    progress: { progress, ...(total !== undefined && { total }) },
  });
}

/** What the tool answered, for work that wrote nothing itself. */
function resultOf({ result = {} }: Answer): readonly Part[] {
  const parts = resultParts(result);
  return parts.length > 0 ? parts : [{ text: "" }];
}

function endOf({ verdict }: Work, answer: Answer): WorkEnd {
  const { error } = answer;
  if (error) return failure(error.message, { code: error.code });
  if (answer.isError)
    return { ...failure(failedWordsOf(answer)), metadata: { code: "tool_error" } };
  if (verdict) return verdict;
  const type = answer.result?.["resultType"];
  if (type !== undefined && type !== "complete")
    return failure(`The tool answered ${JSON.stringify(type)}, which a task cannot go on from.`);
  return { state: "completed" };
}

function endOfThrown(
  thrown: unknown,
  { isUnwanted, fault }: LiveTask,
  isDraining: boolean,
): WorkEnd {
  const error = fault ?? toGatewayError(thrown);
  const { code } = error;
  if (isUnwanted) return { state: "canceled" };
  // What a caller of contract v1 is told.
  if (code === "cancelled" && isDraining) return failure("canceled by shutdown", { code });
  if (code === "cancelled") return failure("canceled by a reload of the configuration", { code });
  return failure(wordsOf(error), { code });
}

/** Failed tasks say why. */
function failure(text: string, metadata?: Json): WorkEnd {
  return {
    state: "failed",
    parts: [{ text: text === "" ? "The work failed and nothing was said about it." : text }],
    metadata,
  };
}

/** Cancels a task when somebody who would not come back for it goes away. */
export function follow(signal: Abortable | undefined, task: LiveTask): () => void {
  const leave = (): void => {
    task.isUnwanted = true;
    task.isForsaken = true;
    task.cancellation.abort(new GatewayError("cancelled", "The client went away."));
  };
  if (signal?.aborted) leave();
  signal?.addEventListener("abort", leave, { once: true });
  return () => signal?.removeEventListener("abort", leave);
}

/** What work comes to; some time after it was aborted it has to. */
function orAborted<T>(work: Promise<T>, cancellation: Cancellation, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const abort = (): void => {
      timer = setTimer(() => reject(toGatewayError(cancellation.reason)), ms);
    };
    if (cancellation.aborted) abort();
    else cancellation.addEventListener("abort", abort);
    const end = (): void => {
      clearTimeout(timer);
      cancellation.removeEventListener("abort", abort);
    };
    work.then(
      (value) => {
        end();
        resolve(value);
      },
      (error: Error) => {
        end();
        reject(error);
      },
    );
  });
}

/** The content of a tool's result as parts; its structured content as data. */
export function resultParts(result: Json): readonly Part[] {
  const content = Array.isArray(result["content"]) ? (result["content"] as Json[]) : [];
  const structured = result["structuredContent"];
  if (structured === undefined) return content.map(fromContent);
  // By the specification the same JSON stands in a text, for those who read no structured content.
  const json = writeJson(structured);
  const others = content.filter(({ type, text }) => type !== "text" || text !== json);
  return [{ data: structured, mediaType: "application/json" }, ...others.map(fromContent)];
}

/** What a failed tool said. */
function failedWordsOf({ result = {} }: Answer): string {
  const words = resultParts({ content: result["content"] }).flatMap(({ text }) => text ?? []);
  return words.join("\n");
}
