import type { Principal } from "propylon";
import { LookupQuota } from "propylon/kit";

/** What {@link Session} ids look like; nothing else is worth a look. */
const SESSION_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Looks for sessions that are not open, once for all requests that name one at the same time. What was not found is not remembered. */
export class SessionLookup {
  readonly #find: (id: string, principal: Principal) => Promise<void>;
  readonly #running = new Map<string, Promise<void>>();
  readonly #lookups = new LookupQuota("sessions");

  /** @param find opens the session of an id if there is one that is the principal's */
  constructor(find: (id: string, principal: Principal) => Promise<void>) {
    this.#find = find;
  }

  /**
   * Resolves when the session is open, or is known not to be there; `undefined`: no session has such an id.
   * @throws {GatewayError} `unavailable` when it cannot be known
   */
  look(id: string, principal: Principal): Promise<void> | undefined {
    if (!SESSION_ID.test(id)) return undefined;
    const key = `${id} ${principal.ref}`;
    const running = this.#running.get(key);
    if (running) return running;
    const looking = this.#lookups
      .run(principal.ref, () => this.#find(id, principal))
      .finally(() => this.#running.delete(key));
    this.#running.set(key, looking);
    return looking;
  }
}
