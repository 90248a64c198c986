import {
  STATES,
  textOf,
  type Artifact,
  type Message,
  type Part,
  type Task,
  type TaskStatus,
} from "propylon/contract";
import type { AgentEvent } from "./channel.ts";
import { sizeOf } from "./translation.ts";

/** How a turn ended: with a task that is final or waits for somebody, or with nothing but a message. */
export type Outcome = { readonly task: Task } | { readonly message: Message };

/** A task as its events tell of it, put together. */
export class TaskView {
  readonly #limit: number;
  readonly #onExcess: () => Error;
  readonly #artifacts = new Map<string, Artifact>();
  readonly #known: Promise<string>;
  #tellKnown!: (id: string) => void;
  #size = 0;
  #id: string | undefined;
  #contextId: string | undefined;
  #status: TaskStatus | undefined;
  #metadata: Task["metadata"];
  #message: Message | undefined;

  /**
   * @param limit bytes of all artifacts
   * @param onExcess makes the error for more
   */
  constructor(limit: number, onExcess: () => Error) {
    this.#limit = limit;
    this.#onExcess = onExcess;
    this.#known = new Promise((resolve) => (this.#tellKnown = resolve));
  }

  get id(): string | undefined {
    return this.#id;
  }

  /** Resolves with the id once it is known. */
  get known(): Promise<string> {
    return this.#known;
  }

  /** Whether nothing follows. */
  get isFinal(): boolean {
    return this.#message !== undefined || this.#facts?.isFinal === true;
  }

  /** Whether nothing follows, or somebody is waited for. */
  get isSettled(): boolean {
    return this.isFinal || this.#facts?.isInterrupted === true;
  }

  /** What the agent last said about how it is getting on, or the state. */
  get words(): string {
    const said = this.#status?.message && textOf(this.#status.message.parts);
    return said || (this.#status?.state ?? "");
  }

  /** Call once settled. */
  get outcome(): Outcome {
    if (this.#message) return { message: this.#message };
    return {
      task: {
        id: this.#id!,
        contextId: this.#contextId,
        status: this.#status!,
        artifacts: [...this.#artifacts.values()],
        metadata: this.#metadata,
      },
    };
  }

  /** A task whose id is known before anything was told of it. */
  expect(id: string): void {
    this.#id = id;
    this.#tellKnown(id);
  }

  /** @throws what `onExcess` makes */
  add(event: AgentEvent): void {
    if (isMessage(event)) this.#message = event.message;
    else if ("task" in event) this.#replace(event.task as Task);
    else if ("statusUpdate" in event)
      this.#update(event.statusUpdate as { taskId: string; status: TaskStatus });
    else this.#addArtifact(event.artifactUpdate as ArtifactUpdate);
  }

  get #facts() {
    return this.#status && STATES[this.#status.state];
  }

  #replace({ id, contextId, status, artifacts = [], metadata }: Task): void {
    this.expect(id);
    this.#contextId = contextId ?? this.#contextId;
    this.#status = status;
    this.#metadata = metadata;
    this.#artifacts.clear();
    this.#size = 0;
    for (const [at, artifact] of artifacts.entries()) {
      this.#count(artifact.parts);
      this.#artifacts.set(artifact.artifactId ?? String(at), artifact);
    }
  }

  #update({ taskId, contextId, status }: StatusUpdate): void {
    this.expect(taskId);
    this.#contextId = contextId ?? this.#contextId;
    this.#status = status;
  }

  #addArtifact({ taskId, contextId, artifact, append = false }: ArtifactUpdate): void {
    this.expect(taskId);
    this.#contextId = contextId ?? this.#contextId;
    const key = artifact.artifactId ?? "";
    const before = this.#artifacts.get(key);
    this.#count(artifact.parts);
    if (!append || !before) {
      if (before) this.#size -= sizeOf(before.parts);
      this.#artifacts.set(key, artifact);
    } else {
      this.#artifacts.set(key, { ...before, parts: join(before.parts, artifact.parts) });
    }
  }

  #count(parts: readonly Part[]): void {
    this.#size += sizeOf(parts);
    if (this.#size > this.#limit) throw this.#onExcess();
  }
}

interface StatusUpdate {
  readonly taskId: string;
  readonly contextId?: string | undefined;
  readonly status: TaskStatus;
}
interface ArtifactUpdate {
  readonly taskId: string;
  readonly contextId?: string | undefined;
  readonly artifact: Artifact;
  readonly append?: boolean | undefined;
}

function isMessage(event: AgentEvent): event is { readonly message: Message } {
  return "message" in event;
}

/** Parts behind others. Text that goes on where the last one ended is one text: agents send it as they write it. */
function join(before: readonly Part[], parts: readonly Part[]): Part[] {
  const [first, ...rest] = parts;
  const last = before.at(-1);
  if (!first || !last || !isPlainText(first) || !isPlainText(last)) return [...before, ...parts];
  return [...before.slice(0, -1), { ...last, text: last.text! + first.text! }, ...rest];
}

function isPlainText({ text, filename, metadata }: Part): boolean {
  return text !== undefined && !filename && !metadata;
}
