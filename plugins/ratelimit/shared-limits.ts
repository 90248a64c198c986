import { FIRST_PROBLEM, setTicker, within } from "propylon/kit";
import { Buckets } from "propylon/internal";
import type { Store, Topic } from "propylon/store";
import { z } from "zod";
import type { CreateTokens } from "./rate.ts";
import { type CreateSharedSlots, SharedSlots } from "./shared-slots.ts";
import { SharedTokens } from "./shared-tokens.ts";

/** How often tokens that nobody uses are looked for, in milliseconds. */
const LOOK_MS = 500;
/** The replicas are counted with each look while limits are used, and at rest with so many: that is a question to the store. */
const LOOKS_AT_REST = 4;
/** How long giving back may take when everything ends, in milliseconds. */
const CLOSE_MS = 1_000;

/** How often slots that nobody uses are looked for, and those that somebody waits for asked for, in milliseconds. */
const TURN_MS = 100;

/** What replicas tell each other of the slots of a rule. */
const newsSchema = z.object({
  name: z.string(),
  key: z.string(),
  what: z.enum(["wanted", "free"]),
});

/** The limits that replicas share. */
export class SharedLimits {
  readonly #store: Store;
  readonly #all: SharedTokens[] = [];
  /** While the store is away as many count as were there last. */
  #others: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  #looks = 0;
  readonly #slots = new Map<string, SharedSlots>();
  readonly #news: Topic<unknown>;
  /** Runs while slots are used: ten turns a second of nothing are most of what a gateway does at rest. */
  #turns: NodeJS.Timeout | undefined;
  #isOpen = false;
  #deaf: (() => unknown) | undefined;

  constructor(store: Store) {
    this.#store = store;
    this.#news = store.topic("slots");
  }

  readonly #countReplicas = (): number => this.#others.size + 1;

  /** The buckets of a rule, shared by all of them. */
  readonly createTokens: CreateTokens = (name, burst, interval) => {
    const tokens = new SharedTokens({
      burst,
      interval,
      meterOf: (key) => this.#store.meter(`${name}\n${key}`, { burst, interval: burst * interval }),
      countReplicas: this.#countReplicas,
    });
    this.#all.push(tokens);
    return tokens;
  };

  /** What shares a bound on calls at the same time between all of them. */
  readonly createSlots: CreateSharedSlots = (name, max) => {
    const slots = new SharedSlots({
      max,
      // A bucket that is full again at once: what is held of it is all that counts.
      meterOf: (key) => this.#store.meter(`${name}\n${key}\nslots`, { burst: max, interval: 1 }),
      countReplicas: this.#countReplicas,
      tell: (news) => this.#news.publish({ name, ...news }),
      wake: () => this.#wake(),
    });
    this.#slots.set(name, slots);
    return slots;
  };

  /** Counts them, and gives back what is not used, until it ends. */
  async begin(): Promise<void> {
    this.#timer = setTicker(() => this.#look(), LOOK_MS).unref();
    this.#isOpen = true;
    this.#wake();
    this.#count();
    // Without it replicas wait for each other's slots a little longer.
    this.#deaf = await this.#news
      .subscribe((news, from) => this.#hear(news, from))
      .catch(() => undefined);
  }

  /** Gives everything back. */
  async close(): Promise<void> {
    this.#isOpen = false;
    clearInterval(this.#timer);
    clearInterval(this.#turns);
    await this.#deaf?.();
    const all = [...this.#all, ...this.#slots.values()];
    await within(Promise.all(all.map((each) => each.close())), CLOSE_MS);
  }

  #hear(news: unknown, from: string): void {
    const { success, data } = newsSchema.safeParse(news, FIRST_PROBLEM);
    if (!success || from === this.#store.replica) return;
    // One that began since the last count waits for its share.
    if (!this.#others.has(from)) this.#count();
    this.#slots.get(data.name)?.hear(data);
  }

  #wake(): void {
    if (this.#isOpen) this.#turns ??= setTicker(() => this.#turn(), TURN_MS).unref();
  }

  #turn(): void {
    const all = [...this.#slots.values()];
    for (const slots of all) slots.tidy(performance.now());
    if (!all.every(({ isAtRest }) => isAtRest)) return;
    clearInterval(this.#turns);
    this.#turns = undefined;
  }

  #look(): void {
    const now = performance.now();
    for (const tokens of this.#all) tokens.tidy(now);
    const isUsed = this.#turns !== undefined || this.#all.some((tokens) => tokens.isUsed(now));
    if (++this.#looks % LOOKS_AT_REST === 0 || isUsed) this.#count();
  }

  #count(): void {
    this.#store.others().then(
      (others) => (this.#others = others),
      () => {},
    );
  }
}

/** Buckets of this gateway alone, or of all replicas of a store. */
export function chooseTokens(shared: SharedLimits | undefined): CreateTokens {
  return shared?.createTokens ?? ((_name, burst, interval) => new Buckets(burst, interval));
}
