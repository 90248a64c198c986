import { Answer, type ErrorCode, GatewayError, type Principal } from "propylon";
import {
  type SharedTask,
  type TaskEnd,
  type TaskSource,
  toEnd,
  ttlOf,
} from "propylon/plugins/tasks";
import type { ManagedAgent, StopReason } from "./record/agent.ts";
import type { Lifecycle } from "./lifecycle.ts";

const NOTHING: SharedTask["questions"] = new Map();

/** The agents of a principal, for the other faces of the gateway. */
export class AgentTasks implements TaskSource {
  readonly #lifecycle: Lifecycle;

  constructor(lifecycle: Lifecycle) {
    this.#lifecycle = lifecycle;
  }

  /** Operators see all agents at home; here everybody sees their own. */
  find(id: string, principal: Principal): SharedTask | undefined {
    const agent = this.#lifecycle.find(id, principal);
    return agent?.owner.ref === principal.ref ? new AgentTask(agent, this.#lifecycle) : undefined;
  }
}

/** One of them. */
class AgentTask implements SharedTask {
  readonly kind = "lifecycle";
  readonly server = "agents";
  readonly questions = NOTHING;
  readonly #agent: ManagedAgent;
  readonly #lifecycle: Lifecycle;

  constructor(agent: ManagedAgent, lifecycle: Lifecycle) {
    this.#agent = agent;
    this.#lifecycle = lifecycle;
  }

  get id(): string {
    return this.#agent.id;
  }

  get name(): string {
    return this.#agent.name;
  }

  get state(): SharedTask["state"] {
    const { end } = this.#agent;
    if (end === undefined) return "working";
    if (end.status === "completed") return "completed";
    return end.reason === "requested" ? "cancelled" : "failed";
  }

  get createdAt(): string {
    return this.#agent.createdAt;
  }

  get updatedAt(): string {
    return this.endedAt ?? this.#agent.startedAt;
  }

  get endedAt(): string | undefined {
    return this.#agent.endedAt;
  }

  get ttl(): number {
    return ttlOf(this, this.#lifecycle.dependencies.options.retention.ttl);
  }

  get end(): TaskEnd | undefined {
    const { end } = this.#agent;
    if (end?.status === "completed")
      return toEnd(Answer.result({ content: [{ type: "text", text: end.summary }] }));
    if (end?.status !== "stopped" || end.reason === "requested") return undefined;
    const why = end.error ?? `The agent was stopped (${end.reason}).`;
    return toEnd(new GatewayError(CODES[end.reason] ?? "upstream_error", why));
  }

  async cancel(): Promise<void> {
    await this.#lifecycle.end(this.#agent, { status: "stopped", reason: "requested" });
  }

  /** Agents ask nobody. */
  answer(): void {}

  watch(listener: () => void): () => void {
    return this.#agent.watch(({ type }) => type === "state" && listener());
  }
}

/** What the gateway did, and not the agent. */
const CODES: Readonly<Partial<Record<StopReason, ErrorCode>>> = {
  shutdown: "unavailable",
  restarted: "unavailable",
  time: "timeout",
};
