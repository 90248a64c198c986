import { setTimer } from "propylon/kit";
import { JobRecords, type SaveOptions } from "propylon/plugins/tasks";
import type { Store } from "propylon/store";
import type { ManagedAgent } from "./agent.ts";
import { agentRecordOf, type AgentRecord, recordSchema } from "./record.ts";

/** How long new output waits to be written, in milliseconds. */
const OUTPUT_MS = 1_000;

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

  override save(agent: ManagedAgent, options?: SaveOptions): Promise<void> {
    this.#talked.delete(agent);
    return super.save(agent, options);
  }

  /** Writes its output, soon. */
  note(agent: ManagedAgent): void {
    this.#talked.add(agent);
    this.#timer ??= setTimer(() => this.#writeOutput(), OUTPUT_MS).unref();
  }

  /** Where nobody else can have it, nothing is waited for. */
  override async claim(agent: ManagedAgent, options?: SaveOptions): Promise<boolean> {
    if (this.isShared) return super.claim(agent, options);
    if (agent.isOver) this.save(agent, { persists: true }).catch(() => {});
    return true;
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
