import { GatewayError, type Principal } from "propylon";
import { FairQuota } from "propylon/kit";

/** Look-ups under way: clients decide which ids they name, and how often. */
const MAX_LOOKUPS = 4_000;
const MAX_OF_ONE = 1_000;
/** What {@link Session} ids look like; nothing else is worth a look. */
const SESSION_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Looks for sessions that are not open, once for all requests that name one at the same time. What was not found is not remembered. */
export class SessionLookup {
  readonly #find: (id: string, principal: Principal) => Promise<void>;
  readonly #running = new Map<string, Promise<void>>();
  readonly #shares = new FairQuota();

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
    if (this.#running.size >= MAX_LOOKUPS || this.#shares.of(principal.ref) >= MAX_OF_ONE)
      return Promise.reject(busy());
    this.#shares.add(principal.ref);
    const looking = this.#find(id, principal).finally(() => {
      this.#running.delete(key);
      this.#shares.remove(principal.ref);
    });
    this.#running.set(key, looking);
    return looking;
  }
}

function busy(): GatewayError {
  return new GatewayError("unavailable", "Too many sessions are looked for at the moment.", {
    hint: "Make the request again.",
    headers: { "retry-after": "1" },
  });
}
