import { GatewayError } from "../errors.ts";
import { FairQuota } from "./fair-quota.ts";

/** Look-ups under way: clients decide which ids they name, and how often, and each may ask the store. */
const MAX_LOOKUPS = 4_000;
const MAX_OF_ONE = 1_000;

/**
 * Bounds the look-ups that are under way for ids that clients name: 4,000 in all, 1,000 of each principal.
 *
 * @example
 * const lookups = new LookupQuota("tasks");
 * const task = await lookups.run(principal.ref, () => find(id));
 */
export class LookupQuota {
  readonly #what: string;
  readonly #shares = new FairQuota();
  #running = 0;
  #refused = 0;

  /** @param what is looked for, in the plural, for the words of a refusal */
  constructor(what: string) {
    this.#what = what;
  }

  /** Look-ups that had no room. */
  get refused(): number {
    return this.#refused;
  }

  /**
   * Looks something up.
   *
   * @param ref of the principal who asks
   * @throws {GatewayError} `unavailable` beyond the bounds; what `look` throws
   */
  async run<T>(ref: string, look: () => Promise<T>): Promise<T> {
    if (this.#running >= MAX_LOOKUPS || this.#shares.of(ref) >= MAX_OF_ONE) throw this.#busy();
    this.#running++;
    this.#shares.add(ref);
    try {
      return await look();
    } finally {
      this.#running--;
      this.#shares.remove(ref);
    }
  }

  #busy(): GatewayError {
    this.#refused++;
    return new GatewayError("unavailable", `Too many ${this.#what} are looked for at the moment.`, {
      hint: "Make the request again.",
      headers: { "retry-after": "1" },
    });
  }
}
