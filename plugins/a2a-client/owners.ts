import type { Principal } from "propylon";

/** Ids remembered per agent; the oldest are forgotten first. */
const MOST = 10_000;

/**
 * Whose tasks and conversations are whose. An agent sees one client, the gateway, and would hand everybody's to everybody who knows
 * an id (a2a-python #786): an id is only taken from the principal it was told to. What was forgotten, or told before a restart of
 * the gateway, is nobody's.
 */
export class IdOwners {
  readonly #principals = new Map<string, string>();

  /** Remembers an id. The first owner stays: an agent may put several callers into one conversation, but not hand it on. */
  claim(id: string | undefined, principal: Principal): void {
    if (id === undefined) return;
    const owner = this.#principals.get(id) ?? principal.ref;
    // Behind all others, so that what is in use is forgotten last.
    this.#principals.delete(id);
    this.#principals.set(id, owner);
    if (this.#principals.size > MOST)
      this.#principals.delete(this.#principals.keys().next().value!);
  }

  /** Whether an id was told to this principal. */
  owns(id: string, principal: Principal): boolean {
    return this.#principals.get(id) === principal.ref;
  }
}
