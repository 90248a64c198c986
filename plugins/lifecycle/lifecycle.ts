import type { Dependencies } from "./run/dependencies.ts";
import { GatewayError, type Principal } from "propylon";
import { setTicker, within } from "propylon/kit";
import type { Entry, Store } from "propylon/store";
import type { PayloadInfo } from "propylon/plugins/payloads";
import { ManagedAgent, type End, type ManagedAgentOptions } from "./record/agent.ts";
import { AgentRecords } from "./record/agent-records.ts";
import type { SaveOptions } from "propylon/plugins/tasks";
import { type AgentRecord, restoreAgent } from "./record/record.ts";
import { ReplicaAgents } from "./replicas/replica-agents.ts";
import { IdempotencyKeys } from "./record/keys.ts";
import { ownTools } from "./run/own-tools.ts";
import { Roster } from "./record/roster.ts";
import { runContract } from "./run/run.ts";
import { Runs } from "./record/runs.ts";
import { AgentSlots } from "./record/slots.ts";

/** How often what is too old is looked for, in milliseconds: at most, and at least. */
const SWEEP_MS = [1_000, 30_000] as const;
/** How long runs may take to end once they were cut, in milliseconds. */
const CUT_MS = 1_000;

const SHUTDOWN: End = {
  status: "stopped",
  reason: "shutdown",
  error: "The gateway shut down.",
};

const RESTARTED: End = {
  status: "stopped",
  reason: "restarted",
  error: "The gateway was restarted while the agent was running.",
};

/** What is asked for with a new agent. */
export interface StartRequest extends Omit<ManagedAgentOptions, "output"> {
  /** Whether it runs as soon as there is a place. */
  readonly start: boolean;
}

/** The agents of this gateway, for MCP, HTTP and WebSocket alike. Lives through reloads of the plugin. */
export class Lifecycle {
  /** How many came to each final state, since the process started. */
  readonly ends = { completed: 0, stopped: 0 };
  readonly #roster = new Roster((agent) => this.#forget(agent));
  readonly #slots = new AgentSlots();
  readonly #ready = new Set<ManagedAgent>();
  readonly #runs = new Runs();
  readonly #keys = new IdempotencyKeys();
  readonly #records: AgentRecords | undefined;
  /** Agents that are being taken in, by id: a client may ask for one that a takeover is about to claim. */
  readonly #taking = new Map<string, Promise<ManagedAgent | undefined>>();
  #isLoaded = false;
  #dependencies: Dependencies | undefined;
  #draining = false;

  /** The agents of other replicas, where there are any. */
  readonly replicas: ReplicaAgents | undefined;

  /** @param store where agents outlive the process, if it does */
  constructor(store?: Store) {
    if (!store?.durable) return;
    this.#records = new AgentRecords(store);
    if (store.shared) this.replicas = new ReplicaAgents(store, this.#records, this);
  }

  get dependencies(): Dependencies {
    return this.#dependencies!;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /** Agents by state, of those that did not end. */
  get counts(): { readonly ready: number; readonly running: number } {
    return { ready: this.#ready.size, running: this.#runs.live.length };
  }

  /** Works with these from now on; the returned function goes back, for a reload that fails. */
  adopt(dependencies: Dependencies): () => void {
    const before = this.#dependencies;
    this.#use(dependencies);
    return () => {
      if (this.#dependencies === dependencies && before) this.#use(before);
    };
  }

  /** Takes in the agents of the process before, and tells other replicas of its own. @returns ends that */
  async open(): Promise<() => void> {
    await this.#load();
    return (await this.replicas?.serve()) ?? (() => {});
  }

  /** Once: those that ran then have ended, those that waited go on to wait. */
  async #load(): Promise<void> {
    if (this.#isLoaded || !this.#records) return;
    // What cannot be claimed now is taken over later.
    await this.#take(await this.#records.load()).catch(() => {});
    this.#isLoaded = true;
  }

  /** Every agent that a principal may see, in the order in which they were made. */
  list(asker: Principal): readonly ManagedAgent[] {
    return this.#roster.list(asker);
  }

  find(id: string, asker: Principal): ManagedAgent | undefined {
    return this.#roster.find(id, asker);
  }

  /**
   * Makes an agent, or finds the one that the same request made before.
   *
   * @throws {GatewayError} `draining`; `rate_limited` when too many are ready; `invalid` for a key that belongs to another request
   */
  create(request: StartRequest): ManagedAgent {
    const key = request.key === undefined ? undefined : this.#keys.of(request.owner, request.key);
    const known = key === undefined ? undefined : this.#keys.find(key, request);
    if (known) return known;
    this.#admit(request);
    const agent = new ManagedAgent({
      ...request,
      key,
      output: this.dependencies.options.maxOutput,
    });
    this.#roster.add(agent);
    this.#ready.add(agent);
    this.#keys.add(agent);
    agent.isWanted = request.start;
    if (this.#records) agent.stored = this.#confirm(agent, this.#records);
    else if (request.start) this.#queue(agent);
    return agent;
  }

  /**
   * Lets an agent run as soon as there is a place; `false` when it was started before.
   *
   * @throws {GatewayError} `unavailable` when that cannot be written down: it stays as it was
   */
  async start(agent: ManagedAgent): Promise<boolean> {
    if (agent.status !== "ready" || agent.isWanted) return false;
    agent.isWanted = true;
    try {
      await this.#records?.save(agent);
    } catch (error) {
      agent.isWanted = false;
      throw error;
    }
    this.#queue(agent);
    return true;
  }

  /**
   * Completes an agent, once; `false` when it had ended before, which stays as it is.
   *
   * @throws {GatewayError} `too_large` for a payload that does not fit, `unavailable`: the agent stays as it was
   */
  async complete(agent: ManagedAgent, summary: string, payload?: string): Promise<boolean> {
    const end: End = { status: "completed", summary };
    if (payload === undefined) return this.end(agent, end);
    while (agent.ending) await agent.ending;
    if (!this.#takes(agent, end)) return false;
    return agent.endBy(async () => {
      await this.#keepPayload(agent, payload);
      // The gateway may have been shut down meanwhile; nothing else passes who is on its way to the end.
      if (this.#takes(agent, end)) return this.#conclude(agent, end, false);
      await this.dependencies.payloads?.delete(agent.id);
      return false;
    });
  }

  /**
   * Ends an agent, once; `false` when it had ended before. Waits for one that is about to.
   *
   * @param persists tries to write it down until the store answers
   * @throws {GatewayError} `unavailable`: the agent stays as it was
   */
  async end(agent: ManagedAgent, end: End, persists = false): Promise<boolean> {
    while (agent.ending) await agent.ending;
    return this.#takes(agent, end) && this.#conclude(agent, end, persists);
  }

  /** Ends an agent that somebody wants to end; `false` when it had ended before. @throws {GatewayError} `unavailable` */
  stop(agent: ManagedAgent): Promise<boolean> {
    return this.end(agent, { status: "stopped", reason: "requested" });
  }

  /** Adds to the payload of an agent that has not ended; `undefined` when it has. */
  async append(agent: ManagedAgent, payload: string): Promise<PayloadInfo | undefined> {
    while (agent.ending) await agent.ending;
    return agent.isOver
      ? undefined
      : this.dependencies.payloads?.append(agent.id, payload, { owner: agent.owner.ref });
  }

  /** @throws {GatewayError} `exists` for one that runs, `unavailable` */
  async delete(agent: ManagedAgent): Promise<void> {
    if (agent.status === "running")
      throw new GatewayError("exists", "The agent is running.", { hint: "Stop it first." });
    await this.#records?.delete(agent, { persists: false });
    this.#roster.drop(agent);
  }

  /**
   * Drops what is kept no longer and takes in what others left, again and again.
   *
   * @param ttl how long what ended is kept, in milliseconds
   * @returns stops it
   */
  tend(ttl: number): () => void {
    const step = (): void => {
      this.sweep();
      // The store may be away: the next time will do.
      this.takeOver().catch(() => {});
    };
    const ticker = setTicker(step, Math.max(SWEEP_MS[0], Math.min(SWEEP_MS[1], ttl))).unref();
    return () => clearInterval(ticker);
  }

  /** Drops what is kept no longer. */
  sweep(): void {
    const { retention } = this.dependencies.options;
    this.#roster.sweep(retention);
    const before = new Date(Date.now() - retention.ttl).toISOString();
    for (const agent of this.#ready)
      if (agent.createdAt < before && !agent.isWanted) this.#roster.drop(agent);
  }

  /** Takes in agents of replicas that are gone; waits for a store that is away. */
  async takeOver(): Promise<void> {
    if (this.#draining || !this.#isLoaded || !this.#records) return;
    await this.#records.takeOver((found) => this.#take(found, { persists: true }));
  }

  async takeIn(entry: Entry<AgentRecord>): Promise<void> {
    if (this.#draining || !this.#isLoaded || this.#roster.get(entry.value.id)) return;
    this.#records?.adopt(entry);
    await this.#take([entry.value]);
  }

  /**
   * Takes no more, and stops those that wait for a place, unless they can wait for the next process. Resolves when none runs any
   * more: those that do go on to their end.
   */
  async drain(): Promise<void> {
    this.#draining = true;
    if (!this.#records) for (const agent of this.#ready) this.#finish(agent, SHUTDOWN);
    await this.#runs.settle();
  }

  /** Stops every agent and ends every run at once, requests in flight included. */
  async close(): Promise<void> {
    void this.drain();
    for (const agent of this.#runs.live) {
      this.#finish(agent, SHUTDOWN);
      this.#records?.save(agent, { persists: true }).catch(() => {});
    }
    await Promise.all([within(this.#runs.cut(), CUT_MS), this.#records?.close(CUT_MS)]);
  }

  #use(dependencies: Dependencies): void {
    this.#dependencies = dependencies;
    this.#slots.limit = dependencies.options.concurrency;
    this.#fill();
  }

  #admit({ start, owner }: StartRequest): void {
    if (this.#draining) throw new GatewayError("draining", "The gateway is shutting down.");
    this.sweep();
    if (start && this.#slots.isFree) return;
    const { maxWaiting, maxWaitingEach } = this.dependencies.options;
    const own = [...this.#ready].filter((agent) => agent.owner.ref === owner.ref).length;
    if (this.#ready.size < maxWaiting && own < maxWaitingEach) return;
    const words =
      this.#ready.size < maxWaiting
        ? `${own} of your agents are ready already.`
        : `There are ${this.#ready.size} agents ready already.`;
    throw new GatewayError("rate_limited", words, {
      hint: "Try again when some have ended.",
      headers: { "retry-after": "5" },
    });
  }

  /** It is there for good, and may begin. */
  async #confirm(agent: ManagedAgent, records: AgentRecords): Promise<void> {
    try {
      await records.save(agent);
    } catch (error) {
      this.#roster.drop(agent);
      throw error;
    }
    if (agent.starts && !agent.isOver) this.#queue(agent);
  }

  #queue(agent: ManagedAgent): void {
    this.#slots.ask(agent);
    this.#fill();
  }

  /** @throws {GatewayError} `unavailable`, behind all that could be taken in */
  async #take(found: readonly AgentRecord[], options?: SaveOptions): Promise<void> {
    const taken: ManagedAgent[] = [];
    const errors: unknown[] = [];
    for (const record of found.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1)))
      await this.#takeOnce(record, options).then(
        (agent) => agent && taken.push(agent),
        (error: unknown) => errors.push(error),
      );
    const ended = taken.filter(({ isOver }) => isOver);
    for (const agent of ended.toSorted((a, b) => (a.endedAt! < b.endedAt! ? -1 : 1)))
      this.#roster.end(agent);
    this.sweep();
    this.#fill();
    if (errors.length > 0) throw errors[0];
  }

  #takeOnce(record: AgentRecord, options?: SaveOptions): Promise<ManagedAgent | undefined> {
    const { id } = record;
    const taking =
      this.#taking.get(id) ??
      this.#takeLeft(record, options).finally(() => this.#taking.delete(id));
    this.#taking.set(id, taking);
    return taking;
  }

  /** One that ran has ended, which is claimed with the same write. @returns `undefined`: it is here, or another replica's */
  async #takeLeft(record: AgentRecord, options?: SaveOptions): Promise<ManagedAgent | undefined> {
    if (this.#roster.get(record.id)) return undefined;
    const agent = restoreAgent(record, this.dependencies.options.maxOutput);
    if (record.isRunning) agent.settle({ end: RESTARTED, endedAt: new Date().toISOString() });
    if (!record.end && !(await this.#records!.claim(agent, options))) return undefined;
    this.#roster.add(agent);
    this.#keys.add(agent);
    if (record.isRunning) this.ends.stopped++;
    if (!agent.isOver) this.#ready.add(agent);
    if (!agent.isOver && agent.isWanted) this.#slots.ask(agent);
    return agent;
  }

  #fill(): void {
    if (this.#draining) return;
    for (let agent = this.#slots.next(); agent; agent = this.#slots.next()) this.#run(agent);
  }

  #run(agent: ManagedAgent): void {
    this.#ready.delete(agent);
    agent.begin();
    this.#runs.begin(agent, () => this.#work(agent));
  }

  async #work(agent: ManagedAgent): Promise<void> {
    this.#runs.cutLeftovers(this.#slots.limit);
    // Who asks for one that a gone replica left may want to stop it.
    await agent.ending;
    // What is not known to run would run again after a restart.
    if (!agent.isOver) await this.#records?.save(agent, { persists: true }).catch(() => {});
    if (!agent.isOver) {
      const unwatch = agent.watch((news) => news.type === "output" && this.#records?.note(agent));
      await runContract(agent, {
        ...this.dependencies,
        tools: ownTools(this, agent),
        end: (end) => this.#endItself(agent, end),
      });
      unwatch();
    }
  }

  /** Never rejects: what cannot be written down when everything ends is told by the next process. */
  async #endItself(agent: ManagedAgent, end: End): Promise<void> {
    try {
      await this.end(agent, end, true);
    } catch {
      if (this.#takes(agent, end)) this.#finish(agent, end);
    }
  }

  /** Writes an end down, and then lets it count. */
  #conclude(agent: ManagedAgent, end: End, persists: boolean): Promise<boolean> {
    const final = { end, endedAt: new Date().toISOString() };
    return agent.endWith(
      final,
      () => this.#records?.save(agent, { persists }),
      () => this.#takes(agent, end) && this.#finish(agent, end, final.endedAt),
    );
  }

  async #keepPayload({ id, owner }: ManagedAgent, payload: string): Promise<void> {
    const { payloads } = this.dependencies;
    if (!payloads)
      throw new GatewayError("disabled", "No payloads are kept here.", {
        hint: "Turn on plugins.payloads.",
      });
    await payloads.put(id, payload, { owner: owner.ref });
  }

  /** Final states are sticky, unless a late completion is wanted. */
  #takes(agent: ManagedAgent, { status }: End): boolean {
    if (!agent.isOver) return true;
    const isLate = status === "completed" && agent.status === "stopped" && !this.#draining;
    return isLate && this.dependencies.options.completeAfterStop === "accept";
  }

  #finish(agent: ManagedAgent, end: End, endedAt = new Date().toISOString()): true {
    this.#slots.leave(agent);
    this.#ready.delete(agent);
    agent.settle({ end, endedAt });
    this.ends[end.status]++;
    this.#roster.end(agent);
    this.#roster.sweep(this.dependencies.options.retention);
    this.#slots.release(agent);
    this.#fill();
    return true;
  }

  #forget(agent: ManagedAgent): void {
    this.#slots.leave(agent);
    this.#ready.delete(agent);
    this.#keys.delete(agent);
    agent.tell({ type: "gone" });
    void this.#records?.delete(agent);
    const { payloads, log } = this.dependencies;
    payloads
      ?.delete(agent.id)
      .catch((error: unknown) => log.warn({ agent: agent.id, err: error }, "a payload stays"));
  }
}
