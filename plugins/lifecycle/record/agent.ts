import type { Json, Principal } from "propylon";
import type { AgentEvent } from "propylon/plugins/agents";
import { Job } from "propylon/plugins/tasks";
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
  /** Whether the request that made it wanted it to run. Default: yes. */
  readonly start?: boolean | undefined;
  /** Names this very request: the same key again is the same agent. */
  readonly key?: string | undefined;
  /** Trace context of the request, since it may run much later. */
  readonly meta?: Json | undefined;
}

/** How an agent ended, and when. */
export interface AgentEnd {
  readonly end: End;
  readonly endedAt: string;
}

/** What is known of an agent of a process before. */
export interface Origin {
  readonly id: string;
  readonly createdAt: string;
  readonly startedAt?: string | undefined;
  readonly output: string;
}

/** One agent at work on one contract. Its final states are sticky. */
export class ManagedAgent extends Job<AgentEnd, News, Principal> {
  readonly contract: string;
  readonly name: string;
  readonly output: Output;
  readonly starts: boolean;
  readonly key: string | undefined;
  readonly meta: Json;
  /** Ends its run at once, requests in flight included. */
  readonly cut = new AbortController();
  /** Whether it is to run, also while it waits for a place. */
  isWanted = false;
  /** Settles when the store has it; absent where nothing is stored. */
  stored: Promise<void> | undefined;
  #isRunning = false;
  #startedAt: string | undefined;

  constructor(
    { contract, name, owner, output, start = true, key, meta = {} }: ManagedAgentOptions,
    origin?: Origin,
  ) {
    super({ owner, id: origin?.id, createdAt: origin?.createdAt });
    this.#startedAt = origin?.startedAt;
    this.contract = contract;
    this.name = name;
    this.output = new Output(output);
    this.output.add(origin?.output ?? "");
    this.starts = start;
    this.key = key;
    this.meta = meta;
  }

  get status(): Status {
    return this.end?.status ?? (this.#isRunning ? "running" : "ready");
  }

  /** ISO 8601; of one that is ready, when it was made. */
  get startedAt(): string {
    return this.#startedAt ?? this.createdAt;
  }

  /** Bytes of text that are kept of it. */
  get bytes(): number {
    const { end } = this;
    const words = end?.status === "completed" ? end.summary : (end?.error ?? "");
    return Buffer.byteLength(this.contract) + Buffer.byteLength(words) + this.output.bytes;
  }

  /** Its run begins. */
  begin(): void {
    this.#isRunning = true;
    this.#startedAt = new Date().toISOString();
    this.tell({ type: "state" });
  }

  override settle(final: AgentEnd): void {
    super.settle(final);
    this.tell({ type: "state" });
  }

  /** Something happened in its run. What comes behind its end is nobody's business any more. */
  hear(event: AgentEvent): void {
    if (this.isOver) return;
    if (event.type !== "text") return this.tell({ type: "progress", event });
    this.output.add(event.text);
    this.tell({ type: "output", text: event.text });
  }
}
