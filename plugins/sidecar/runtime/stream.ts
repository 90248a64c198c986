import {
  STATES,
  streamEventSchema,
  type Artifact,
  type StreamEvent,
  type Task,
  type TaskArtifactUpdate,
} from "propylon/contract";
import { SseParser } from "propylon";
import { Failure } from "../failure.ts";

/**
 * Reads a stream of events to its end and puts the task together from them (R041, R042).
 *
 * @param limit largest event in bytes
 * @throws {Failure} `unreachable` when it breaks off, `invalid_answer` for what is no event
 */
export async function readStream(
  body: AsyncIterable<Uint8Array>,
  id: string,
  limit: number,
  tell: (event: StreamEvent) => void,
): Promise<Task> {
  let task: Task = { id, status: { state: "submitted" } };
  const parser = new SseParser(
    {
      event(data) {
        const event = eventOf(Buffer.concat(data).toString("utf8"));
        task = follow(task, event);
        tell(event);
      },
      overflow() {
        throw new Failure("invalid_answer", "An event of the runtime was too large.");
      },
    },
    limit,
  );
  try {
    for await (const chunk of body) {
      parser.push(Buffer.from(chunk));
      // A runtime may leave the stream open behind the end of the task.
      if (isOver(task)) break;
    }
  } catch (error) {
    if (error instanceof Failure || !isOver(task)) throw error;
  }
  if (isOver(task)) return task;
  throw new Failure("unreachable", "The runtime's stream ended before the task did.");
}

function isOver({ status }: Task): boolean {
  const { isFinal, isInterrupted } = STATES[status.state];
  return isFinal || isInterrupted;
}

function eventOf(text: string): StreamEvent {
  try {
    return streamEventSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new Failure("invalid_answer", "The runtime's stream holds what is no event.", cause);
  }
}

/** The task once this happened to it. */
export function follow(task: Task, event: StreamEvent): Task {
  if ("task" in event && event.task) return event.task as Task;
  if ("statusUpdate" in event && event.statusUpdate) {
    const { status, contextId, metadata } = event.statusUpdate as Task;
    return {
      ...task,
      status,
      ...(contextId !== undefined && { contextId }),
      ...(metadata && { metadata: { ...task.metadata, ...metadata } }),
    };
  }
  return { ...task, artifacts: place(task.artifacts ?? [], event["artifactUpdate"] as never) };
}

function place(artifacts: readonly Artifact[], update: TaskArtifactUpdate): Artifact[] {
  const { artifact, append } = update;
  const known = artifacts.find(
    ({ artifactId }) => artifactId !== undefined && artifactId === artifact.artifactId,
  );
  if (!known) return [...artifacts, artifact];
  const next = append ? { ...known, parts: [...known.parts, ...artifact.parts] } : artifact;
  return artifacts.map((each) => (each === known ? next : each));
}
