import type { Principal } from "propylon";
import type { Agent } from "./agent.ts";
import type { LifecycleOptions } from "./options.ts";

/** Every agent that is known, and which of those that ended are still kept. */
export class Roster {
  readonly #agents = new Map<string, Agent>();
  /** Those that ended, in the order of their ends, with their bytes. */
  readonly #ended = new Map<Agent, number>();
  #endedBytes = 0;
  readonly #onDrop: (agent: Agent) => void;

  /** @param onDrop told of each agent that is forgotten, whatever the reason */
  constructor(onDrop: (agent: Agent) => void) {
    this.#onDrop = onDrop;
  }

  add(agent: Agent): void {
    this.#agents.set(agent.id, agent);
  }

  /** An agent as its owner sees it, and who runs the gateway; for everybody else there is none. */
  find(id: string, asker: Principal): Agent | undefined {
    const agent = this.#agents.get(id);
    return agent && isVisible(agent, asker) ? agent : undefined;
  }

  /** Those that somebody may see, in the order in which they were made. */
  list(asker: Principal): readonly Agent[] {
    return [...this.#agents.values()].filter((agent) => isVisible(agent, asker));
  }

  /** Files an agent that ended, or that ended once more and differently. */
  file(agent: Agent): void {
    this.#unfile(agent);
    if (!this.#agents.has(agent.id)) return;
    const { bytes } = agent;
    this.#ended.set(agent, bytes);
    this.#endedBytes += bytes;
  }

  drop(agent: Agent): void {
    this.#unfile(agent);
    if (this.#agents.delete(agent.id)) this.#onDrop(agent);
  }

  /** Drops the oldest that ended, beyond what is to be kept. */
  sweep({ maxAgents, ttl, maxSize }: LifecycleOptions["retention"]): void {
    const before = new Date(Date.now() - ttl).toISOString();
    for (const agent of this.#ended.keys()) {
      const fits = this.#ended.size <= maxAgents && this.#endedBytes <= maxSize;
      if (fits && agent.endedAt! >= before) break;
      this.drop(agent);
    }
  }

  #unfile(agent: Agent): void {
    this.#endedBytes -= this.#ended.get(agent) ?? 0;
    this.#ended.delete(agent);
  }
}

/** Owners see their own, operators and admins all. */
function isVisible({ owner }: Agent, { ref, roles }: Principal): boolean {
  return owner.ref === ref || roles.has("operator") || roles.has("admin");
}
