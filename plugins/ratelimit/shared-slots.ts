import { createHash } from "node:crypto";
import { within } from "propylon/kit";
import type { Meter } from "propylon/store";
import type { Slots } from "./slots.ts";

/** After so long without an answer of the store what a replica has taken is no longer its own, in milliseconds. */
const TTL_MS = 5_000;
/** What is taken ahead, as a part of a bound. */
const AHEAD = 1 / 8;
/** Slots that nobody used for so long are given back, although nobody waits for them, in milliseconds. */
const IDLE_MS = 10_000;
/** How long it counts that another replica waits, and how often one says that it does, in milliseconds. */
const WANTED_MS = 1_000;
const TELL_MS = 50;
/** Longest wait for the store on the way of a call, and how long it is left alone after that, in milliseconds. */
const ANSWER_MS = 1_000;
const AWAY_MS = 1_000;

/** What replicas tell each other of slots. */
export interface SlotNews {
  /** Digest of the key of the calls that share. */
  readonly key: string;
  readonly what: "wanted" | "free";
}

/** What shares one bound. */
export interface SharedSlotsOptions {
  readonly max: number;
  /** A bucket of `max` that is full at once: what replicas hold of it is what they may run. */
  readonly meterOf: (key: string) => Meter;
  readonly countReplicas: () => number;
  readonly tell: (news: SlotNews) => Promise<void>;
  /** There is something to look after again; see {@link SharedSlots.isAtRest}. */
  readonly wake: () => void;
}

/** Makes what shares the bound of a rule. */
export type CreateSharedSlots = (name: string, max: number) => SharedSlots;

/** What this gateway may run of the calls that share a bound. */
interface Claim {
  readonly key: string;
  readonly slots: Slots;
  readonly meter: Meter;
  /** Slots that are taken from the others, used or not. */
  count: number;
  /** When they are not its own any more. */
  until: number;
  usedAt: number;
  /** Until when others wait for some. */
  wantedUntil: number;
  toldAt: number;
  /** Calls that wait for the store. */
  growing: number;
  asking: Promise<void> | undefined;
}

/**
 * A bound on calls at the same time that all replicas of a store share. Each takes slots from the store when it needs them, keeps them
 * while it uses them, and gives back what others wait for above its share: together they never run more than the bound.
 */
export class SharedSlots {
  readonly #options: SharedSlotsOptions;
  readonly #ahead: number;
  readonly #claims = new Map<Slots, Claim>();
  readonly #byKey = new Map<string, Claim>();
  #awayUntil = 0;

  constructor(options: SharedSlotsOptions) {
    this.#options = options;
    this.#ahead = Math.floor(options.max * AHEAD);
  }

  /** Follows the slots of a key, which begin with none. */
  add(key: string, slots: Slots): void {
    const claim: Claim = {
      key: createHash("sha256").update(key).digest("base64url"),
      slots,
      meter: this.#options.meterOf(key),
      count: 0,
      until: 0,
      usedAt: 0,
      wantedUntil: 0,
      toldAt: 0,
      growing: 0,
      asking: undefined,
    };
    this.#claims.set(slots, claim);
    this.#byKey.set(claim.key, claim);
  }

  /** Follows them no longer; what they have is free after a while. */
  drop(slots: Slots): void {
    const claim = this.#claims.get(slots);
    this.#claims.delete(slots);
    if (claim && this.#byKey.get(claim.key) === claim) this.#byKey.delete(claim.key);
  }

  /** Whether {@link tidy} has nothing to do until a call asks for a slot: nothing is taken, runs or waits. */
  get isAtRest(): boolean {
    for (const { count, slots, growing, asking } of this.#claims.values())
      if (count > 0 || slots.max > 0 || !slots.isIdle || growing > 0 || asking) return false;
    return true;
  }

  /** Takes a slot for a call that found none here; waits a moment at most. */
  async take(slots: Slots): Promise<boolean> {
    const claim = this.#claims.get(slots);
    if (!claim) return false;
    claim.growing++;
    this.#options.wake();
    try {
      // Outdated, and perhaps for others.
      await claim.asking;
      if (slots.take()) return true;
      const isAway = performance.now() < this.#awayUntil;
      if (!isAway && !(await within(this.#ask(claim, claim.growing), ANSWER_MS))) this.#goAway();
      return slots.take();
    } finally {
      claim.growing--;
    }
  }

  /** Another replica waits for slots, or gave some back. */
  hear({ key, what }: SlotNews): void {
    const claim = this.#byKey.get(key);
    if (!claim) return;
    const now = performance.now();
    if (what === "wanted") claim.wantedUntil = now + WANTED_MS;
    this.#look(claim, now);
  }

  /** Gives back what is not used, asks for what is waited for, and keeps the rest. */
  tidy(now: number): void {
    for (const claim of this.#claims.values()) this.#look(claim, now);
  }

  /** Gives back what does not run. */
  async close(): Promise<void> {
    const ends = [...this.#claims.values()].map(async (claim) => {
      await claim.asking;
      await this.#giveBack(claim, claim.count - claim.slots.active);
    });
    await Promise.all(ends);
  }

  #look(claim: Claim, now: number): void {
    const { slots } = claim;
    if (!slots.isIdle) claim.usedAt = now;
    if (claim.asking || now < this.#awayUntil) return;
    // What it may run while the store is away ends with that.
    if (claim.count === 0 && slots.isIdle) return slots.resize(0);
    if (now >= claim.until) claim.count = 0;
    const target = this.#targetOf(claim, now);
    slots.resize(target);
    const surplus = claim.count - Math.max(slots.active, target);
    const needed = Math.max(0, slots.active - claim.count) + slots.waiting;
    if (surplus > 0) void this.#giveBack(claim, surplus);
    else if (needed > 0 && claim.count < this.#options.max) void this.#ask(claim, needed);
    else if (claim.until - now < TTL_MS / 2) void this.#ask(claim, 0);
  }

  /** What it keeps: its share where others wait, what it runs where it needs no more. */
  #targetOf({ count, slots, usedAt, wantedUntil }: Claim, now: number): number {
    const { max, countReplicas } = this.#options;
    const isWanted = now < wantedUntil;
    const kept = isWanted ? Math.min(count, Math.floor(max / countReplicas())) : count;
    const isSpare = slots.waiting === 0 && (isWanted || now - usedAt >= IDLE_MS);
    return isSpare ? Math.min(kept, slots.active) : kept;
  }

  async #giveBack(claim: Claim, surplus: number): Promise<void> {
    if (surplus <= 0) return;
    claim.count -= surplus;
    // Before the others have them: a call that comes meanwhile finds none.
    claim.slots.resize(Math.min(claim.count, this.#targetOf(claim, performance.now())));
    await this.#ask(claim, -surplus);
    if (performance.now() < claim.wantedUntil) this.#tell(claim, "free");
  }

  /** Never rejects. @param needed slots more; below zero: to give back */
  #ask(claim: Claim, needed: number): Promise<void> {
    claim.asking ??= this.#hold(claim, needed).finally(() => (claim.asking = undefined));
    return claim.asking;
  }

  async #hold(claim: Claim, needed: number): Promise<void> {
    const askedAt = performance.now();
    const left = askedAt < claim.until ? claim.count : 0;
    try {
      const count = needed > 0 ? Math.max(needed, this.#ahead) : needed;
      const { held } = await claim.meter.hold(count, { left, ttl: TTL_MS });
      claim.count = held;
      claim.until = askedAt + TTL_MS;
      // What is only kept is not used.
      if (needed > 0) claim.usedAt = performance.now();
      claim.slots.resize(held);
      if (held - left < needed) this.#tell(claim, "wanted");
    } catch {
      this.#goAway();
    }
  }

  #tell(claim: Claim, what: SlotNews["what"]): void {
    const now = performance.now();
    if (what === "wanted" && now - claim.toldAt < TELL_MS) return;
    claim.toldAt = now;
    this.#options.tell({ key: claim.key, what }).catch(() => {});
  }

  /** While the store is away each replica runs its share. */
  #goAway(): void {
    const { max, countReplicas } = this.#options;
    this.#awayUntil = performance.now() + AWAY_MS;
    const share = Math.max(1, Math.floor(max / countReplicas()));
    for (const { slots } of this.#claims.values()) slots.resize(share);
  }
}
