import type { ManagedAgent } from "./agent.ts";

/** The runs of agents, each until its last request has ended: an agent that was stopped may have one in flight. */
export class Runs {
  readonly #all = new Map<ManagedAgent, Promise<void>>();
  #turns = Promise.resolve();

  /** Agents that run and have not ended. */
  get live(): readonly ManagedAgent[] {
    return [...this.#all.keys()].filter(({ isOver }) => !isOver);
  }

  /** Begins a run in a later turn of the event loop. @param work never rejects */
  begin(agent: ManagedAgent, work: () => Promise<void>): void {
    this.#all.set(agent, this.#work(agent, work));
  }

  /** Resolves when those have ended that are live now. */
  async settle(): Promise<void> {
    await Promise.all([...this.#all].flatMap(([agent, run]) => (agent.isOver ? [] : [run])));
  }

  /** Cuts every request in flight. Resolves when all runs have ended. */
  async cut(): Promise<void> {
    for (const agent of this.#all.keys()) agent.cut.abort();
    await Promise.all(this.#all.values());
  }

  /**
   * An agent that was stopped has no place any more, and its request in flight ends normally. Starting and stopping
   * would so allow any number of requests in flight: beyond as many as there are places the oldest is cut.
   */
  cutLeftovers(places: number): void {
    const left = [...this.#all.keys()].filter(({ isOver, cut }) => isOver && !cut.signal.aborted);
    for (const agent of left.slice(0, Math.max(0, left.length - places))) agent.cut.abort();
  }

  async #work(agent: ManagedAgent, work: () => Promise<void>): Promise<void> {
    await this.#turn();
    await work();
    this.#all.delete(agent);
  }

  /**
   * A caller that starts an agent has the answer before anything else happens, and one run begins per turn of the event
   * loop: two hundred at once would hold everybody up for as long as all of them take.
   */
  #turn(): Promise<void> {
    return (this.#turns = this.#turns.then(() => new Promise((resolve) => setImmediate(resolve))));
  }
}
