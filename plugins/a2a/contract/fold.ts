import type { Part } from "./message.ts";
import type { Artifact, StreamEvent, Task, TaskArtifactUpdate } from "./task.ts";

/**
 * The task as it is after an event; makes another, changes none. The one place where events become tasks, for those who make
 * events and those who receive them.
 *
 * Appended text is joined with the text before it. An artifact without an id is new, unless it is appended.
 */
export function applyEvent(task: Task, event: StreamEvent): Task {
  if ("task" in event) return event.task;
  if ("artifactUpdate" in event) return withArtifact(task, event.artifactUpdate);
  const { status, contextId, metadata } = event.statusUpdate;
  const next = { ...task, status };
  if (contextId !== undefined) next.contextId = contextId;
  if (metadata) next.metadata = { ...task.metadata, ...metadata };
  return next;
}

/**
 * A task that is put together from its events, within a bound: of the artifacts that are kept, and not of the events, which may
 * be many in a long task.
 */
export class TaskFold {
  readonly #limit: number;
  readonly #onExcess: () => Error;
  /** Bytes by artifact; those without an id count together. */
  readonly #sizes = new Map<string | undefined, number>();
  #task: Task;
  #size = 0;

  /**
   * @param task before the first event
   * @param limit most bytes of all artifacts, as JSON
   * @param onExcess makes the error for more
   */
  constructor(task: Task, limit: number, onExcess: () => Error) {
    this.#task = task;
    this.#limit = limit;
    this.#onExcess = onExcess;
  }

  /** As it is after the events so far. */
  get task(): Task {
    return this.#task;
  }

  /** @throws what `onExcess` makes */
  add(event: StreamEvent): Task {
    this.#task = applyEvent(this.#task, event);
    this.#count(event);
    if (this.#size > this.#limit) throw this.#onExcess();
    return this.#task;
  }

  #count(event: StreamEvent): void {
    if ("task" in event) {
      this.#sizes.clear();
      this.#size = 0;
      for (const artifact of this.#task.artifacts ?? []) this.#grow(artifact, true);
    } else if ("artifactUpdate" in event) {
      const { artifact, append } = event.artifactUpdate;
      this.#grow(artifact, append === true);
    }
  }

  #grow(artifact: Artifact, append: boolean): void {
    const { artifactId } = artifact;
    const before = this.#sizes.get(artifactId) ?? 0;
    const kept = append || artifactId === undefined ? before : 0;
    const after = kept + Buffer.byteLength(JSON.stringify(artifact));
    this.#sizes.set(artifactId, after);
    this.#size += after - before;
  }
}

function withArtifact(task: Task, { artifact, append }: TaskArtifactUpdate): Task {
  const artifacts = task.artifacts ?? [];
  const isNew = artifact.artifactId === undefined && append !== true;
  const at = isNew
    ? -1
    : artifacts.findLastIndex(({ artifactId }) => artifactId === artifact.artifactId);
  if (at < 0) return { ...task, artifacts: [...artifacts, artifact] };
  const next = append === true ? extend(artifacts[at]!, artifact) : artifact;
  return { ...task, artifacts: artifacts.with(at, next) };
}

function extend(before: Artifact, { parts, metadata }: Artifact): Artifact {
  return {
    ...before,
    parts: parts.reduce(addPart, before.parts),
    ...(metadata && { metadata: { ...before.metadata, ...metadata } }),
  };
}

/** Text behind text is one text: a model's answer of 500 pieces is not 500 parts. */
function addPart(parts: readonly Part[], part: Part): Part[] {
  const last = parts.at(-1);
  if (last === undefined || !isPlain(last) || !isPlain(part)) return [...parts, part];
  return [...parts.slice(0, -1), { ...last, text: `${last.text}${part.text}` }];
}

function isPlain(part: Part): boolean {
  return part.text !== undefined && Object.keys(part).every((key) => key === "text");
}
