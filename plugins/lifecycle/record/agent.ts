import { randomUUID } from "node:crypto";
import type { Json, Principal } from "propylon";
import type { AgentEvent } from "propylon/plugins/agents";
import { Output } from "./output.ts";

/** Where an agent is in its life: ready waits, the last two are final. */
export type Status = "ready" | "running" | "stopped" | "completed";

/**
 * Why an agent was stopped: by `agent_stop`; by the end of the gateway or of this plugin; because it said that it failed;
 * by an error; because it ended without a word about its contract; by the end of its process; or by the budget that ran out.
 */
export type StopReason =
  | "requested"
  | "shutdown"
  | "failed"
  | "error"
  | "unfinished"
  | "restarted"
  | "turns"
  | "calls"
  | "tokens"
  | "time";

/** How an agent ends. */
export type End =
  | { readonly status: "completed"; readonly summary: string }
  | {
      readonly status: "stopped";
      readonly reason: StopReason;
      readonly error?: string | undefined;
    };

/** What a watcher of an agent is told. */
export type News =
  | { readonly type: "state" }
  /** It was deleted. */
  | { readonly type: "gone" }
  | { readonly type: "output"; readonly text: string }
  | { readonly type: "progress"; readonly event: Exclude<AgentEvent, { type: "text" }> };

/** What an agent is made of. */
export interface ManagedAgentOptions {
  readonly contract: string;
  /** Name of the agent in the config. */
  readonly name: string;
  readonly owner: Principal;
  /** Most bytes of output to keep. */
  readonly output: number;
  /** Names this very request: the same key again is the same agent. */
  readonly key?: string | undefined;
  /** Trace context of the request, since it may run much later. */
  readonly meta?: Json | undefined;
}

/** What is known of an agent of a process before. */
export interface Origin {
  readonly id: string;
  readonly createdAt: string;
  readonly startedAt?: string | undefined;
  readonly output: string;
}

/** One agent at work on one contract. Its final states are sticky. */
export class ManagedAgent {
  /** Nobody can guess it: somebody who knows an id has seen it. */
  readonly id: string;
  readonly contract: string;
  readonly name: string;
  readonly owner: Principal;
  readonly output: Output;
  readonly key: string | undefined;
  readonly meta: Json;
  readonly createdAt: string;
  /** Ends its run at once, requests in flight included. */
  readonly cut = new AbortController();
  /** Set while a payload is stored on the way to its end: the next caller waits. */
  ending: Promise<unknown> | undefined;
  /** The end that is being written down and does not count yet. */
  nextEnd: { readonly end: End; readonly endedAt: string } | undefined;
  /** Whether it is to run, also while it waits for a place. */
  isWanted = false;
  /** Settles when the store has it; absent where nothing is stored. */
  stored: Promise<void> | undefined;
  #status: Status = "ready";
  #startedAt: string | undefined;
  #endedAt: string | undefined;
  #end: End | undefined;
  readonly #watchers = new Set<(news: News) => void>();

  constructor(
    { contract, name, owner, output, key, meta = {} }: ManagedAgentOptions,
    origin?: Origin,
  ) {
    this.id = origin?.id ?? randomUUID();
    this.createdAt = origin?.createdAt ?? new Date().toISOString();
    this.#startedAt = origin?.startedAt;
    this.contract = contract;
    this.name = name;
    this.owner = owner;
    this.output = new Output(output);
    this.output.add(origin?.output ?? "");
    this.key = key;
    this.meta = meta;
  }

  get status(): Status {
    return this.#status;
  }

  /** ISO 8601; of one that is ready, when it was made. */
  get startedAt(): string {
    return this.#startedAt ?? this.createdAt;
  }

  /** ISO 8601 (always that of the state it is in). */
  get endedAt(): string | undefined {
    return this.#endedAt;
  }

  get end(): End | undefined {
    return this.#end;
  }

  get isOver(): boolean {
    return this.#end !== undefined;
  }

  /** Bytes of text that are kept of it. */
  get bytes(): number {
    const words = this.#end?.status === "completed" ? this.#end.summary : (this.#end?.error ?? "");
    return Buffer.byteLength(this.contract) + Buffer.byteLength(words) + this.output.bytes;
  }

  /** Its run begins. */
  begin(): void {
    this.#status = "running";
    this.#startedAt = new Date().toISOString();
    this.#tell({ type: "state" });
  }

  /** Takes its final state. The caller knows that it has none, or one that may still change. */
  finish(end: End, endedAt = new Date().toISOString()): void {
    this.#end = end;
    this.#status = end.status;
    this.#endedAt = endedAt;
    this.#tell({ type: "state" });
  }

  /** Something happened in its run. What comes behind its end is nobody's business any more. */
  hear(event: AgentEvent): void {
    if (this.isOver) return;
    if (event.type !== "text") return this.#tell({ type: "progress", event });
    this.output.add(event.text);
    this.#tell({ type: "output", text: event.text });
  }

  /** Nobody finds it any more. */
  leave(): void {
    this.#tell({ type: "gone" });
  }

  /** Calls back with everything that happens, until the returned function is called. */
  watch(watcher: (news: News) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  #tell(news: News): void {
    for (const watcher of this.#watchers) watcher(news);
  }
}
