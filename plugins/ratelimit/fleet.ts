import { Buckets, setTicker, type Store, within } from "propylon/kit";
import type { CreateTokens } from "./rate.ts";
import { SharedTokens } from "./shared-tokens.ts";

/** How often the gateways of the store are counted, and tokens that nobody uses looked for, in milliseconds. */
const LOOK_MS = 500;
/** How long giving back may take when everything ends, in milliseconds. */
const CLOSE_MS = 1_000;

/** The gateways that share limits. */
export class Fleet {
  readonly #store: Store;
  readonly #all: SharedTokens[] = [];
  #size = 1;
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The buckets of a rule, shared by all of them. */
  readonly createTokens: CreateTokens = (name, burst, interval) => {
    const tokens = new SharedTokens({
      burst,
      interval,
      meterOf: (key) => this.#store.meter(`${name}\n${key}`, { burst, interval: burst * interval }),
      sizeOfFleet: () => this.#size,
    });
    this.#all.push(tokens);
    return tokens;
  };

  /** Counts them, and gives back what is not used, until it ends. */
  begin(): void {
    if (this.#all.length === 0) return;
    this.#timer = setTicker(() => this.#look(), LOOK_MS).unref();
    this.#look();
  }

  /** Gives everything back. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await within(Promise.all(this.#all.map((tokens) => tokens.close())), CLOSE_MS);
  }

  #look(): void {
    for (const tokens of this.#all) tokens.tidy(performance.now());
    // While the store is away as many count as were there last.
    this.#store.replicas().then(
      ({ length }) => (this.#size = Math.max(1, length)),
      () => {},
    );
  }
}

/** Buckets of this gateway alone, or of all gateways of a store. */
export function chooseTokens(fleet: Fleet | undefined): CreateTokens {
  return fleet?.createTokens ?? ((_name, burst, interval) => new Buckets(burst, interval));
}
