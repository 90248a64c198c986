import { toGatewayError, type Answer, type Call, type Middleware, type Next } from "propylon";
import { Cap } from "./cap.ts";
import type { RatelimitOptions } from "./options.ts";
import { type CreateTokens, Rate } from "./rate.ts";
import type { Limited } from "./selector.ts";
import type { RateLimitsService } from "./service.ts";
import type { CreateSharedSlots } from "./shared-slots.ts";
import type { Slots } from "./slots.ts";

/** Names of tools and servers remembered with the rules about them. */
const NAMES = 10_000;

/** A rate as it concerns calls of one name. */
interface RateRule {
  readonly rate: Rate;
  /** Made once where it is the same for all callers. */
  readonly key: string | undefined;
}

/** The rules about calls of one name. */
interface Rules {
  readonly rates: readonly RateRule[];
  readonly caps: readonly Cap[];
}

/** All limits: what a call needs to run, and what is left of it. */
export class Limits implements RateLimitsService {
  readonly caps: readonly Cap[];
  readonly rates: readonly Rate[];
  readonly #rejected: (rule: string) => void;
  /** Rules by server, then by name. */
  readonly #rules = new Map<string, Map<string, Rules>>();
  #names = 0;

  /** @param rejected told the rule of every call that is refused */
  constructor(
    { rates, concurrency }: RatelimitOptions,
    rejected: (rule: string) => void,
    createTokens: CreateTokens,
    createSlots?: CreateSharedSlots,
  ) {
    this.rates = Object.entries(rates).map(
      ([name, options]) => new Rate(name, options, createTokens),
    );
    this.caps = Object.entries(concurrency).map(
      ([name, options]) => new Cap(name, options, createSlots),
    );
    this.#rejected = rejected;
  }

  /** Joins the stage `limit`. */
  readonly middleware: Middleware = (call, next) => {
    const { rates, caps } = this.#rulesOf(call);
    const spending = rates.length > 0 ? this.#spend(rates, call) : undefined;
    if (spending !== undefined) return spending.then(() => this.#run(caps, call, next));
    return this.#run(caps, call, next);
  };

  #run(caps: readonly Cap[], call: Call, next: Next): Promise<Answer> {
    return caps.length > 0 ? this.#bound(caps, call, next) : next(call);
  }

  headersOf(call: Limited): Readonly<Record<string, string>> {
    const rates = this.#ratesFor(call);
    if (rates.length === 0) return {};
    const now = performance.now();
    return {
      "ratelimit-policy": rates.map(({ policy }) => policy).join(", "),
      ratelimit: rates.map((rate) => rate.state(call, now)).join(", "),
    };
  }

  /** Refuses everybody who waits. */
  close(): void {
    for (const cap of this.caps) cap.close();
  }

  #ratesFor(call: Limited): Rate[] {
    return this.#rulesOf(call)
      .rates.map(({ rate }) => rate)
      .filter(({ selector }) => selector.admits(call.principal));
  }

  /** Takes a token of every bucket, or of none; a promise where a bucket must be asked for. */
  #spend(rules: readonly RateRule[], call: Call, from = 0): Promise<void> | undefined {
    const now = performance.now();
    for (let index = from; index < rules.length; index++) {
      const { rate, key } = rules[index]!;
      if (!rate.selector.admits(call.principal)) continue;
      const wait = rate.take(key ?? rate.selector.keyOf(call), now);
      if (typeof wait !== "number")
        return wait.then((late) => {
          if (late !== 0) this.#refuse(rules, index, call, late);
          return this.#spend(rules, call, index + 1);
        });
      if (wait !== 0) this.#refuse(rules, index, call, wait);
    }
    return undefined;
  }

  /** @throws {GatewayError} `rate_limited` */
  #refuse(rules: readonly RateRule[], index: number, call: Call, wait: number): never {
    const { rate } = rules[index]!;
    giveBack(rules.slice(0, index), call);
    this.#rejected(rate.name);
    throw rate.refusal(call, wait, performance.now());
  }

  #bound(caps: readonly Cap[], call: Call, next: Next): Promise<Answer> {
    const held: Slots[] = [];
    for (let index = 0; index < caps.length; index++) {
      const cap = caps[index]!;
      if (!cap.selector.admits(call.principal)) continue;
      const slots = cap.slotsOf(call);
      if (!slots.take()) return this.#queue(caps.slice(index), held, call, next);
      held.push(slots);
    }
    return hold(held, call, next);
  }

  /** Every call takes its slots in the order of the config, so no two can wait for each other. */
  async #queue(caps: readonly Cap[], held: Slots[], call: Call, next: Next): Promise<Answer> {
    for (const cap of caps) {
      if (!cap.selector.admits(call.principal)) continue;
      const slots = cap.slotsOf(call);
      try {
        if (!slots.take()) await cap.queue(call, slots);
        held.push(slots);
      } catch (error) {
        for (const each of held) each.release();
        if (toGatewayError(error).code === "rate_limited") this.#rejected(cap.name);
        throw error;
      }
    }
    return hold(held, call, next);
  }

  #rulesOf(call: Limited): Rules {
    const name = call.method === "tools/call" ? call.name : "";
    return this.#rules.get(call.server)?.get(name) ?? this.#findRules(call, name);
  }

  #findRules(call: Limited, name: string): Rules {
    if (++this.#names > NAMES) {
      this.#rules.clear();
      this.#names = 1;
    }
    const rules: Rules = {
      rates: this.rates
        .filter(({ selector }) => selector.covers(call))
        .map((rate) => ({ rate, key: rate.selector.commonKeyOf(call) })),
      caps: this.caps.filter(({ selector }) => selector.covers(call)),
    };
    const names = this.#rules.get(call.server) ?? new Map<string, Rules>();
    this.#rules.set(call.server, names.set(name, rules));
    return rules;
  }
}

function giveBack(rules: readonly RateRule[], call: Call): void {
  for (const { rate, key } of rules)
    if (rate.selector.admits(call.principal)) rate.giveBack(key ?? rate.selector.keyOf(call));
}

/** Runs a call and gives its slots back at its end. */
function hold(held: readonly Slots[], call: Call, next: Next): Promise<Answer> {
  const answer = next(call);
  const release = (): void => {
    for (const slots of held) slots.release();
  };
  answer.then(release, release);
  return answer;
}
