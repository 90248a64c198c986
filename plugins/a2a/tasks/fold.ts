import type {
  Artifact,
  Part,
  StreamEvent,
  Task,
  TaskArtifactUpdate,
  TaskStatusUpdate,
} from "propylon/contract";

/**
 * The task as it is after an event; makes another, changes none. The one place where events become tasks, for whoever makes the
 * events and whoever receives them.
 */
export function applyEvent(task: Task, event: StreamEvent): Task {
  if ("task" in event) return event.task as Task;
  if ("artifactUpdate" in event)
    return withArtifact(task, event.artifactUpdate as TaskArtifactUpdate);
  const { status, metadata } = event.statusUpdate as TaskStatusUpdate;
  return { ...task, status, ...(metadata && { metadata: { ...task.metadata, ...metadata } }) };
}

function withArtifact(task: Task, { artifact, append }: TaskArtifactUpdate): Task {
  const artifacts = task.artifacts ?? [];
  const at = artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
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
