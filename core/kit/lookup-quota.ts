import { GatewayError } from "./errors.ts";
import { FairQuota } from "./fair-quota.ts";

/**
 * How many look-ups may be under way.
 *
 * @example const bounds: LookupBounds = { max: 300, maxOfOne: 150 };
 */
export interface LookupBounds {
  /** In all. Default: 4,000. */
  readonly max: number;
  /** Of one principal. Default: 1,000. */
  readonly maxOfOne: number;
}

/** Clients decide which ids they name, and how often, and each may ask the store. */
const BOUNDS: LookupBounds = { max: 4_000, maxOfOne: 1_000 };

/**
 * Bounds the look-ups that are under way for ids that clients name, in all and of each principal.
 *
 * @example
 * const lookups = new LookupQuota("tasks");
 * const task = await lookups.run(principal.ref, () => find(id));
 */
export class LookupQuota {
  readonly #what: string;
  readonly #bounds: LookupBounds;
  readonly #onRefused: (bound: "principal" | "total") => void;
  readonly #shares = new FairQuota();
  #running = 0;
  #refused = 0;

  /**
   * @param what is looked for, in the plural, for the words of a refusal
   * @param onRefused hears of each that had no room: of its principal, or in all
   */
  constructor(
    what: string,
    bounds: Partial<LookupBounds> = {},
    onRefused: (bound: "principal" | "total") => void = () => {},
  ) {
    this.#what = what;
    this.#bounds = { ...BOUNDS, ...bounds };
    this.#onRefused = onRefused;
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
    const end = this.take(ref);
    try {
      return await look();
    } finally {
      end();
    }
  }

  /**
   * Takes a place, for work that is not a promise.
   *
   * @param ref of the principal who asks
   * @returns gives it back; to be called once
   * @throws {GatewayError} `unavailable` beyond the bounds
   */
  take(ref: string): () => void {
    const { max, maxOfOne } = this.#bounds;
    if (this.#running >= max) throw this.#busy("total");
    if (this.#shares.of(ref) >= maxOfOne) throw this.#busy("principal");
    this.#running++;
    this.#shares.add(ref);
    return () => {
      this.#running--;
      this.#shares.remove(ref);
    };
  }

  #busy(bound: "principal" | "total"): GatewayError {
    this.#refused++;
    this.#onRefused(bound);
    return new GatewayError("unavailable", `Too many ${this.#what} are looked for at the moment.`, {
      hint: "Make the request again.",
      headers: { "retry-after": "1" },
    });
  }
}
