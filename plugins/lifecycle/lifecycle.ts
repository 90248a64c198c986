import type { Dependencies } from "./dependencies.ts";
import { GatewayError, type Principal } from "propylon";
import { within } from "propylon/kit";
import type { PayloadInfo } from "propylon/plugins/payloads";
import { ManagedAgent, type End, type ManagedAgentOptions } from "./agent.ts";
import { ownTools } from "./own-tools.ts";
import { Roster } from "./roster.ts";
import { runContract } from "./run.ts";
import { AgentSlots } from "./slots.ts";

/** How long runs may take to end once they were cut, in milliseconds. */
const CUT_MS = 1_000;

const SHUTDOWN: End = {
  status: "stopped",
  reason: "shutdown",
  error: "The gateway shut down.",
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
  readonly #runs = new Map<ManagedAgent, Promise<void>>();
  /** Agents by owner and the key that the owner gave the request. */
  readonly #keys = new Map<
    string,
    { readonly agent: ManagedAgent; readonly request: StartRequest }
  >();
  #turns = Promise.resolve();
  #dependencies: Dependencies | undefined;
  #draining = false;

  get dependencies(): Dependencies {
    return this.#dependencies!;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /** Agents by state, of those that did not end. */
  get counts(): { readonly ready: number; readonly running: number } {
    let running = 0;
    for (const agent of this.#runs.keys()) if (!agent.isOver) running++;
    return { ready: this.#ready.size, running };
  }

  /** Works with these from now on; the returned function goes back, for a reload that fails. */
  adopt(dependencies: Dependencies): () => void {
    const before = this.#dependencies;
    this.#use(dependencies);
    return () => {
      if (this.#dependencies === dependencies && before) this.#use(before);
    };
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
    const key = request.key === undefined ? undefined : `${request.owner.ref}\n${request.key}`;
    const known = key === undefined ? undefined : this.#keys.get(key);
    if (known) return sameRequest(known, request);
    this.#admit(request);
    const agent = new ManagedAgent({
      ...request,
      key,
      output: this.dependencies.options.maxOutput,
    });
    this.#roster.add(agent);
    this.#ready.add(agent);
    if (key !== undefined) this.#keys.set(key, { agent, request });
    if (request.start) this.start(agent);
    return agent;
  }

  /** Lets an agent run as soon as there is a place; `false` when it was started before. */
  start(agent: ManagedAgent): boolean {
    if (agent.status !== "ready" || this.#slots.isWaiting(agent)) return false;
    this.#slots.ask(agent);
    this.#fill();
    return true;
  }

  /**
   * Completes an agent, once; `false` when it had ended before, which stays as it is.
   *
   * @throws {GatewayError} `too_large` for a payload that does not fit: the agent stays as it was
   */
  async complete(agent: ManagedAgent, summary: string, payload?: string): Promise<boolean> {
    const end: End = { status: "completed", summary };
    if (payload === undefined) return this.end(agent, end);
    while (agent.ending) await agent.ending.catch(() => {});
    if (!this.#takes(agent, end)) return false;
    await this.#keepPayload(agent, payload);
    // The gateway may have been shut down meanwhile; nothing else passes who is on its way to the end.
    if (this.#takes(agent, end)) return this.#finish(agent, end);
    await this.dependencies.payloads?.delete(agent.id);
    return false;
  }

  /** Ends an agent, once; `false` when it had ended before. Waits for one that is about to. */
  async end(agent: ManagedAgent, end: End): Promise<boolean> {
    while (agent.ending) await agent.ending.catch(() => {});
    return this.#takes(agent, end) && this.#finish(agent, end);
  }

  /** Adds to the payload of an agent that has not ended; `undefined` when it has. */
  async append(agent: ManagedAgent, payload: string): Promise<PayloadInfo | undefined> {
    while (agent.ending) await agent.ending.catch(() => {});
    return agent.isOver
      ? undefined
      : this.dependencies.payloads?.append(agent.id, payload, { owner: agent.owner.ref });
  }

  /** @throws {GatewayError} `exists` for one that runs */
  delete(agent: ManagedAgent): void {
    if (agent.status === "running")
      throw new GatewayError("exists", "The agent is running.", { hint: "Stop it first." });
    this.#roster.drop(agent);
  }

  /** Drops what is kept no longer. */
  sweep(): void {
    const { retention } = this.dependencies.options;
    this.#roster.sweep(retention);
    const before = new Date(Date.now() - retention.ttl).toISOString();
    for (const agent of this.#ready)
      if (agent.createdAt < before && !this.#slots.isWaiting(agent)) this.#roster.drop(agent);
  }

  /** Takes no more, and stops those that wait for a place. Resolves when none runs any more: those that do go on to their end. */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const agent of this.#ready) this.#finish(agent, SHUTDOWN);
    await Promise.all([...this.#runs].flatMap(([agent, run]) => (agent.isOver ? [] : [run])));
  }

  /** Stops every agent and ends every run at once, requests in flight included. */
  async close(): Promise<void> {
    void this.drain();
    for (const agent of this.#runs.keys()) if (!agent.isOver) this.#finish(agent, SHUTDOWN);
    for (const agent of this.#runs.keys()) agent.cut.abort();
    await within(Promise.all(this.#runs.values()), CUT_MS);
  }

  #use(dependencies: Dependencies): void {
    this.#dependencies = dependencies;
    this.#slots.limit = dependencies.options.concurrency;
    this.#fill();
  }

  #admit({ start }: StartRequest): void {
    if (this.#draining) throw new GatewayError("draining", "The gateway is shutting down.");
    this.sweep();
    if (this.#ready.size < this.dependencies.options.maxWaiting || (start && this.#slots.isFree))
      return;
    throw new GatewayError("rate_limited", `There are ${this.#ready.size} agents ready already.`, {
      hint: "Try again when some have ended.",
      headers: { "retry-after": "5" },
    });
  }

  #fill(): void {
    if (this.#draining) return;
    for (let agent = this.#slots.next(); agent; agent = this.#slots.next()) this.#run(agent);
  }

  #run(agent: ManagedAgent): void {
    this.#ready.delete(agent);
    agent.begin();
    this.#runs.set(agent, this.#work(agent));
  }

  async #work(agent: ManagedAgent): Promise<void> {
    await this.#turn();
    this.#cutLeftovers();
    if (!agent.isOver)
      await runContract(agent, {
        ...this.dependencies,
        tools: ownTools(this, agent),
        end: (end) => this.end(agent, end),
      });
    this.#runs.delete(agent);
  }

  /**
   * An agent that was stopped has no place any more, and its request in flight ends normally. Whoever starts and stops
   * would so have as many requests in flight as they like: beyond as many as there are places the oldest is cut.
   */
  #cutLeftovers(): void {
    const left = [...this.#runs.keys()].filter(
      (agent) => agent.isOver && !agent.cut.signal.aborted,
    );
    for (const agent of left.slice(0, Math.max(0, left.length - this.#slots.limit)))
      agent.cut.abort();
  }

  /**
   * Whoever starts an agent has the answer before anything else happens, and one run begins per turn of the event
   * loop: two hundred at once would hold everybody up for as long as all of them take.
   */
  #turn(): Promise<void> {
    return (this.#turns = this.#turns.then(() => new Promise((resolve) => setImmediate(resolve))));
  }

  async #keepPayload(agent: ManagedAgent, payload: string): Promise<void> {
    const { payloads } = this.dependencies;
    if (!payloads)
      throw new GatewayError("disabled", "No payloads are kept here.", {
        hint: "Turn on plugins.payloads.",
      });
    agent.ending = payloads.put(agent.id, payload, { owner: agent.owner.ref });
    try {
      await agent.ending;
    } finally {
      agent.ending = undefined;
    }
  }

  /** Final states are sticky, unless a late completion is wanted. */
  #takes(agent: ManagedAgent, { status }: End): boolean {
    if (!agent.isOver) return true;
    const isLate = status === "completed" && agent.status === "stopped" && !this.#draining;
    return isLate && this.dependencies.options.completeAfterStop === "accept";
  }

  #finish(agent: ManagedAgent, end: End): true {
    this.#slots.leave(agent);
    this.#ready.delete(agent);
    agent.finish(end);
    this.ends[end.status]++;
    this.#roster.file(agent);
    this.#roster.sweep(this.dependencies.options.retention);
    this.#slots.release(agent);
    this.#fill();
    return true;
  }

  #forget(agent: ManagedAgent): void {
    this.#slots.leave(agent);
    this.#ready.delete(agent);
    if (agent.key !== undefined) this.#keys.delete(agent.key);
    agent.leave();
    const { payloads, log } = this.dependencies;
    payloads
      ?.delete(agent.id)
      .catch((error: unknown) => log.warn({ agent: agent.id, err: error }, "a payload stays"));
  }
}

/** @throws {GatewayError} `invalid` when the request was another one */
function sameRequest(
  { agent, request }: { readonly agent: ManagedAgent; readonly request: StartRequest },
  { contract, name, start }: StartRequest,
): ManagedAgent {
  if (request.contract === contract && request.name === name && request.start === start)
    return agent;
  throw new GatewayError("invalid", "This Idempotency-Key belongs to another request.", {
    hint: "Use a new key for every request.",
  });
}
