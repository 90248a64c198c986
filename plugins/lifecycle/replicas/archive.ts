import { setTimer } from "propylon/kit";
import { Records, type Kv, type Store } from "propylon/store";
import type { ManagedAgent } from "../record/agent.ts";
import { recordSchema, restoreAgent, agentRecordOf, type AgentRecord } from "../record/record.ts";

/** How long new output waits to be written, in milliseconds. */
const OUTPUT_MS = 1_000;

/** An agent of a process before, and how it was then. */
export interface Restored {
  readonly agent: ManagedAgent;
  readonly record: AgentRecord;
}

/** The agents in a store that outlives the process. */
export class AgentArchive {
  readonly #store: Store;
  readonly #end = new AbortController();
  readonly #records: Records<AgentRecord>;
  readonly #kv: Kv<AgentRecord>;
  /** Whether the request that made an agent wanted it to run. */
  readonly #starts = new WeakMap<ManagedAgent, boolean>();
  /** Agents that another gateway of the store has. */
  readonly #foreign = new Set<string>();
  /** The other gateways of the store. */
  #others: ReadonlySet<string> = new Set();
  readonly #talked = new Set<ManagedAgent>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store) {
    const options = { schema: recordSchema };
    this.#store = store;
    this.#kv = store.kv("agents", options);
    this.#records = new Records(store, "agents", {
      ...options,
      signal: this.#end.signal,
      owns: ({ gateway }) => !this.#others.has(gateway),
    });
  }

  /** The agents of processes that ended, in the order in which they were made. */
  async load(maxOutput: number): Promise<readonly Restored[]> {
    await this.#lookAround();
    const found: AgentRecord[] = [];
    for await (const { key, value } of this.#records.load())
      if (value.end || !this.#others.has(value.gateway)) found.push(value);
      else this.#foreign.add(key);
    return this.#restore(found, maxOutput);
  }

  /** Agents of gateways that have ended meanwhile. */
  async takeOver(maxOutput: number): Promise<readonly Restored[]> {
    const before = this.#others;
    await this.#lookAround();
    // Agents that were started elsewhere since this gateway began are not known here.
    if ([...before].some((id) => !this.#others.has(id)))
      for await (const { key, value } of this.#kv.list())
        if (!value.end && before.has(value.gateway)) this.#foreign.add(key);
    if (this.#foreign.size === 0) return [];
    const found: AgentRecord[] = [];
    for (const key of this.#foreign) {
      const entry = await this.#kv.get(key);
      if (entry && !entry.value.end && this.#others.has(entry.value.gateway)) continue;
      this.#foreign.delete(key);
      if (!entry) continue;
      this.#records.adopt(entry);
      found.push(entry.value);
    }
    return this.#restore(found, maxOutput);
  }

  /** An agent that another gateway has, or had. */
  async locate(id: string): Promise<AgentRecord | undefined> {
    const entry = await this.#kv.get(id);
    if (entry) this.#foreign.add(id);
    return entry?.value;
  }

  /** Whether another gateway has an agent that is still there. */
  async isElsewhere({ gateway }: AgentRecord): Promise<boolean> {
    await this.#lookAround();
    return this.#others.has(gateway);
  }

  /** Writes down an agent that was just made. Rejects while the store is away. */
  add(agent: ManagedAgent, starts: boolean): Promise<void> {
    this.#starts.set(agent, starts);
    return this.save(agent, false);
  }

  /** @param persists tries until the store answers, or this ends */
  save(agent: ManagedAgent, persists: boolean): Promise<void> {
    this.#talked.delete(agent);
    const starts = this.#starts.get(agent) ?? true;
    const gateway = this.#store.replica;
    return this.#records.save(agent.id, () => agentRecordOf(agent, { starts, gateway }), {
      persists,
    });
  }

  /** Writes its output, soon. */
  note(agent: ManagedAgent): void {
    this.#talked.add(agent);
    this.#timer ??= setTimer(() => this.#writeOutput(), OUTPUT_MS).unref();
  }

  delete({ id }: ManagedAgent, persists: boolean): Promise<void> {
    return this.#records.delete(id, { persists });
  }

  /** Nothing is tried any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#end.abort();
  }

  #writeOutput(): void {
    this.#timer = undefined;
    // What cannot be written now is written with the next output, or the end.
    for (const agent of this.#talked) if (!agent.isOver) this.save(agent, false).catch(() => {});
    this.#talked.clear();
  }

  async #lookAround(): Promise<void> {
    this.#others = await this.#store.others();
  }

  async #restore(records: readonly AgentRecord[], maxOutput: number): Promise<readonly Restored[]> {
    const restored: Restored[] = [];
    for (const record of records.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1))) {
      const agent = restoreAgent(record, maxOutput);
      this.#starts.set(agent, record.starts);
      if (record.end || (await this.#claim(agent))) restored.push({ agent, record });
    }
    return restored;
  }

  /** Of several gateways that find an agent without one, one has it. */
  async #claim(agent: ManagedAgent): Promise<boolean> {
    if (!this.#store.shared) return true;
    try {
      await this.save(agent, false);
      return true;
    } catch {
      this.#foreign.add(agent.id);
      return false;
    }
  }
}
