import type { Principal } from "propylon";
import { JobMemory } from "propylon/plugins/tasks";
import type { LifecycleOptions } from "../options.ts";
import type { ManagedAgent } from "./agent.ts";

/** Every agent that is known, and which of those that ended are still kept. */
export class Roster extends JobMemory<ManagedAgent> {
  readonly #onDrop: (agent: ManagedAgent) => void;

  /** @param onDrop told of each agent that is forgotten, whatever the reason */
  constructor(onDrop: (agent: ManagedAgent) => void) {
    super();
    this.#onDrop = onDrop;
  }

  /** An agent as its owner sees it, and who runs the gateway; for everybody else there is none. */
  find(id: string, asker: Principal): ManagedAgent | undefined {
    const agent = this.get(id);
    return agent && isVisible(agent, asker) ? agent : undefined;
  }

  /** Those that somebody may see, in the order in which they were made. */
  list(asker: Principal): readonly ManagedAgent[] {
    return [...this].filter((agent) => isVisible(agent, asker));
  }

  override drop(agent: ManagedAgent): boolean {
    const wasHere = super.drop(agent);
    if (wasHere) this.#onDrop(agent);
    return wasHere;
  }

  /** Drops what ended too long ago; then the oldest of the one with the most. */
  sweep({ maxAgents, ttl, maxSize }: LifecycleOptions["retention"]): void {
    const before = new Date(Date.now() - ttl).toISOString();
    for (const agent of this.ended) {
      if (agent.endedAt! >= before) break;
      this.drop(agent);
    }
    while (this.ended.size > maxAgents) this.drop(this.surplus(this.shares.ended)!);
    while (this.bytes > maxSize) this.drop(this.surplus(this.shares.bytes)!);
  }
}

/** Owners see their own, operators and admins all. */
export function isVisible(
  { owner }: { readonly owner: Pick<Principal, "ref"> },
  { ref, roles }: Principal,
): boolean {
  return owner.ref === ref || roles.has("operator") || roles.has("admin");
}
