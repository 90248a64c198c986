import { GatewayError, isGatewayError, type Call } from "propylon";
import { setTimer } from "propylon/kit";
import type { CreateSharedSlots, SharedSlots } from "./shared-slots.ts";
import type { CapOptions } from "./options.ts";
import { Selector, type Limited } from "./selector.ts";
import { Slots, type Waiter } from "./slots.ts";

/** Keys kept before those without calls are dropped. */
const KEYS = 10_000;

/** One bound on calls that run at the same time. */
export class Cap {
  readonly name: string;
  readonly selector: Selector;
  readonly #options: CapOptions;
  readonly #slots = new Map<string, Slots>();
  readonly #shared: SharedSlots | undefined;

  /** @param shared makes what shares the bound with other replicas; absent where there are none */
  constructor(name: string, options: CapOptions, shared?: CreateSharedSlots) {
    this.name = name;
    this.#shared = shared?.(name, options.maxRunning);
    this.selector = new Selector(options);
    this.#options = options;
  }

  /** Calls that run. */
  get active(): number {
    return this.#sum("active");
  }

  /** Calls that wait. */
  get waiting(): number {
    return this.#sum("waiting");
  }

  /** The slots that a call shares with others. */
  slotsOf(call: Limited): Slots {
    const key = this.selector.keyOf(call);
    return this.#slots.get(key) ?? this.#add(key);
  }

  /**
   * Waits for a slot, which is the call's then.
   *
   * @throws {GatewayError} `rate_limited` when the queue is full or the wait too long; `draining`; `cancelled`
   */
  queue(call: Call, slots: Slots): Promise<void> {
    return this.#shared ? this.#take(this.#shared, call, slots) : this.#wait(call, slots);
  }

  /** Where all replicas have unused slots together, nobody waits, nor is refused. */
  async #take(shared: SharedSlots, call: Call, slots: Slots): Promise<void> {
    if (!(await shared.take(slots))) return this.#wait(call, slots);
    if (!call.signal.aborted) return;
    slots.release();
    throw abortReason(call.signal);
  }

  #wait(call: Call, slots: Slots): Promise<void> {
    const { signal } = call;
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
        slots.leave(waiter);
        settle();
      };
      const refuse = (why: string): void => end(() => reject(this.#refusal(why)));
      const abort = (): void => end(() => reject(abortReason(signal)));
      const waiter: Waiter = {
        principal: call.principal.ref,
        admit: () => end(resolve),
        displace: () => refuse("others wait that have fewer"),
        close: () => end(() => reject(closing())),
      };
      const timer = setTimer(() => refuse("none ended in time"), this.#options.queueTimeout);
      if (signal.aborted) return abort();
      signal.addEventListener("abort", abort, { once: true });
      if (!slots.join(waiter)) refuse("and as many wait as may");
    });
  }

  /** Refuses everybody who waits. */
  close(): void {
    for (const slots of this.#slots.values()) for (const waiter of slots.waiters()) waiter.close();
  }

  #add(key: string): Slots {
    if (this.#slots.size >= KEYS)
      for (const [idle, slots] of this.#slots) if (slots.isIdle) this.#drop(idle, slots);
    const slots = new Slots(this.#shared ? 0 : this.#options.maxRunning, this.#options.maxQueue);
    this.#slots.set(key, slots);
    this.#shared?.add(key, slots);
    return slots;
  }

  #drop(key: string, slots: Slots): void {
    this.#slots.delete(key);
    this.#shared?.drop(slots);
  }

  #sum(figure: "active" | "waiting"): number {
    let sum = 0;
    for (const slots of this.#slots.values()) sum += slots[figure];
    return sum;
  }

  #refusal(why: string): GatewayError {
    const { maxRunning } = this.#options;
    return new GatewayError(
      "rate_limited",
      `Too many calls at the same time: "${this.name}" lets ${maxRunning} run, ${why}.`,
      {
        data: { limit: maxRunning, remaining: 0, retryAfter: 1, rule: this.name },
        hint: "Try again when others have ended.",
        headers: { "retry-after": "1" },
      },
    );
  }
}

function closing(): GatewayError {
  return new GatewayError("draining", "The call did not start: the gateway is closing.", {
    hint: "Try again.",
    headers: { "retry-after": "1" },
  });
}

function abortReason({ reason }: AbortSignal): GatewayError {
  if (isGatewayError(reason)) return reason;
  return new GatewayError("cancelled", "The call was cancelled.", { cause: reason });
}
