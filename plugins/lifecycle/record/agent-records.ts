import { isGatewayError } from "propylon";
import { setTimer } from "propylon/kit";
import { JobRecords } from "propylon/plugins/tasks";
import type { Store } from "propylon/store";
import type { ManagedAgent } from "./agent.ts";
import { agentRecordOf, type AgentRecord, recordSchema } from "./record.ts";

/** How long new output waits to be written, in milliseconds. */
const OUTPUT_MS = 1_000;

/** How an agent is claimed. */
export interface ClaimOptions {
  /** Tries until the store answers. */
  readonly persists: boolean;
}

/** The agents in a store that outlives the process. */
export class AgentRecords extends JobRecords<ManagedAgent, AgentRecord> {
  readonly #talked = new Set<ManagedAgent>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store) {
    super(store, "agents", {
      schema: recordSchema,
      isUnderWay: ({ end }) => end === undefined,
      toRecord: agentRecordOf,
    });
  }

  override save(agent: ManagedAgent, options?: { readonly persists: boolean }): Promise<void> {
    this.#talked.delete(agent);
    return super.save(agent, options);
  }

  /** Writes its output, soon. */
  note(agent: ManagedAgent): void {
    this.#talked.add(agent);
    this.#timer ??= setTimer(() => this.#writeOutput(), OUTPUT_MS).unref();
  }

  /**
   * Of several replicas that find an agent without an end, one has it.
   *
   * @returns `false`: another has it
   * @throws {GatewayError} `unavailable`: nobody knows
   */
  async claim(agent: ManagedAgent, options?: ClaimOptions): Promise<boolean> {
    if (!this.isShared) {
      if (agent.isOver) this.save(agent, { persists: true }).catch(() => {});
      return true;
    }
    try {
      await this.save(agent, options);
      return true;
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "exists") throw error;
      this.forget(agent);
      return false;
    }
  }

  override close(last: number): Promise<void> {
    clearTimeout(this.#timer);
    return super.close(last);
  }

  #writeOutput(): void {
    this.#timer = undefined;
    // What cannot be written now is written with the next output, or the end.
    for (const agent of this.#talked) if (!agent.isOver) this.save(agent).catch(() => {});
    this.#talked.clear();
  }
}
