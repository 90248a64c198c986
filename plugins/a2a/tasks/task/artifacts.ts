import { applyEvent, type Artifact, type Task, type TaskArtifactUpdate } from "propylon/contract";

/**
 * Largest artifact in bytes that its last update repeats: the official JavaScript client reads events of at most 4 MiB, and a text
 * that is larger than this is not an answer of a model.
 */
const MAX_REPEATED = 1_048_576;

/** What an update says beside the ids of its task. */
export type Update = Pick<TaskArtifactUpdate, "artifact" | "append" | "lastChunk">;

/** A piece of an artifact, or all of it. */
interface Piece {
  readonly artifact: Artifact & { readonly artifactId: string };
  readonly append: boolean | undefined;
  readonly lastChunk: boolean | undefined;
}

/** The artifacts of one task: how large they are, and to which of them more may be added. */
export class Artifacts {
  readonly #sizes = new Map<string, number>();
  /** Made with the first of them: most tasks have one that comes whole. */
  #open: Set<string> | undefined;

  /** Bytes of all of them, as JSON. */
  get bytes(): number {
    let bytes = 0;
    for (const size of this.#sizes.values()) bytes += size;
    return bytes;
  }

  /** Bytes of one of them. */
  sizeOf(artifactId: string): number {
    return this.#sizes.get(artifactId) ?? 0;
  }

  resize(artifactId: string, bytes: number): void {
    this.#sizes.set(artifactId, bytes);
  }

  /** How a piece is told of. */
  update(task: Task, { artifact, append, lastChunk }: Piece): Update {
    const { artifactId } = artifact;
    const isMore = append === true && find(task, artifactId) !== undefined;
    if (lastChunk) return this.#end(task, artifact, isMore);
    (this.#open ??= new Set()).add(artifactId);
    // Clients ignore what is added to an artifact that they have not seen.
    return { artifact, ...(append !== undefined && { append: isMore }) };
  }

  /** Ends the artifacts that the skill has not ended itself. */
  end(task: Task): readonly Update[] {
    return [...(this.#open ?? [])].map((artifactId) =>
      this.#end(task, { artifactId, parts: [] }, true),
    );
  }

  /**
   * The last update of an artifact has all of it, because google-adk keeps no other; a client that puts the pieces together has it
   * once either way.
   */
  #end(task: Task, piece: Piece["artifact"], isMore: boolean): Update {
    const { artifactId, parts } = piece;
    this.#open?.delete(artifactId);
    if (!isMore) return { artifact: piece, lastChunk: true };
    if (this.sizeOf(artifactId) <= MAX_REPEATED)
      return { artifact: withMore(task, piece), lastChunk: true };
    const artifact = { ...piece, parts: parts.length > 0 ? parts : [{ text: "" }] };
    return { artifact, append: true, lastChunk: true };
  }
}

function find({ artifacts }: Task, wanted: string): Artifact | undefined {
  return artifacts?.find(({ artifactId }) => artifactId === wanted);
}

/** An artifact of the task as it is with another piece behind it. */
function withMore(task: Task, artifact: Piece["artifact"]): Artifact {
  const artifactUpdate: TaskArtifactUpdate = { taskId: task.id, artifact, append: true };
  return find(applyEvent(task, { artifactUpdate }), artifact.artifactId)!;
}
