import type { ManagedAgent } from "./agent.ts";

/** Places for agents that run at the same time, and who waits for one, first come first served. */
export class AgentSlots {
  /** How many there are. */
  limit = 1;
  readonly #taken = new Set<ManagedAgent>();
  readonly #waiting = new Set<ManagedAgent>();

  /** Whether one who asks now gets a place at once. */
  get isFree(): boolean {
    return this.#taken.size < this.limit;
  }

  /** Asks for a place; who has to wait gets it from {@link next}. */
  ask(agent: ManagedAgent): void {
    this.#waiting.add(agent);
  }

  isWaiting(agent: ManagedAgent): boolean {
    return this.#waiting.has(agent);
  }

  /** Waits no longer. */
  leave(agent: ManagedAgent): void {
    this.#waiting.delete(agent);
  }

  /** Gives a free place to who waited longest. */
  next(): ManagedAgent | undefined {
    if (!this.isFree) return undefined;
    const [agent] = this.#waiting;
    if (!agent) return undefined;
    this.#waiting.delete(agent);
    this.#taken.add(agent);
    return agent;
  }

  release(agent: ManagedAgent): void {
    this.#taken.delete(agent);
  }
}
