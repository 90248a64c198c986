import type { Principal } from "propylon";
import { FairQuota } from "propylon/kit";
import type { ManagedAgent } from "./agent.ts";
import type { LifecycleOptions } from "../options.ts";

/** Every agent that is known, and which of those that ended are still kept. */
export class Roster {
  readonly #agents = new Map<string, ManagedAgent>();
  /** Those that ended, in the order of their ends, with their bytes. */
  readonly #ended = new Map<ManagedAgent, number>();
  #endedBytes = 0;
  /** Of those that ended, how many each owner has, and their bytes. */
  readonly #countOf = new FairQuota();
  readonly #bytesOf = new FairQuota();
  readonly #onDrop: (agent: ManagedAgent) => void;

  /** @param onDrop told of each agent that is forgotten, whatever the reason */
  constructor(onDrop: (agent: ManagedAgent) => void) {
    this.#onDrop = onDrop;
  }

  add(agent: ManagedAgent): void {
    this.#agents.set(agent.id, agent);
  }

  /** An agent as its owner sees it, and who runs the gateway; for everybody else there is none. */
  find(id: string, asker: Principal): ManagedAgent | undefined {
    const agent = this.#agents.get(id);
    return agent && isVisible(agent, asker) ? agent : undefined;
  }

  /** Those that somebody may see, in the order in which they were made. */
  list(asker: Principal): readonly ManagedAgent[] {
    return [...this.#agents.values()].filter((agent) => isVisible(agent, asker));
  }

  /** Files an agent that ended, or that ended once more and differently. */
  file(agent: ManagedAgent): void {
    this.#unfile(agent);
    if (!this.#agents.has(agent.id)) return;
    const { bytes } = agent;
    this.#ended.set(agent, bytes);
    this.#endedBytes += bytes;
    this.#countOf.add(agent.owner.ref);
    this.#bytesOf.add(agent.owner.ref, bytes);
  }

  drop(agent: ManagedAgent): void {
    this.#unfile(agent);
    if (this.#agents.delete(agent.id)) this.#onDrop(agent);
  }

  /** Drops what ended too long ago; then the oldest of the one with the most, or one owner could make those of all others go. */
  sweep({ maxAgents, ttl, maxSize }: LifecycleOptions["retention"]): void {
    const before = new Date(Date.now() - ttl).toISOString();
    for (const agent of this.#ended.keys()) {
      if (agent.endedAt! >= before) break;
      this.drop(agent);
    }
    while (this.#ended.size > maxAgents) this.#dropOldest(this.#countOf);
    while (this.#endedBytes > maxSize) this.#dropOldest(this.#bytesOf);
  }

  #dropOldest(quota: FairQuota): void {
    const hasMost = quota.largestWith("");
    for (const agent of this.#ended.keys()) if (hasMost(agent.owner.ref)) return this.drop(agent);
  }

  #unfile(agent: ManagedAgent): void {
    const bytes = this.#ended.get(agent);
    if (bytes === undefined) return;
    this.#ended.delete(agent);
    this.#endedBytes -= bytes;
    this.#countOf.remove(agent.owner.ref);
    this.#bytesOf.remove(agent.owner.ref, bytes);
  }
}

/** Owners see their own, operators and admins all. */
export function isVisible(
  { owner }: { readonly owner: Pick<Principal, "ref"> },
  { ref, roles }: Principal,
): boolean {
  return owner.ref === ref || roles.has("operator") || roles.has("admin");
}
