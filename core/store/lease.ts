import { randomUUID } from "node:crypto";
import { GatewayError } from "../kit/errors.ts";
import { pause, setTimer } from "../kit/timers.ts";
import type { StoreConnection } from "./connection.ts";
import { StoreKv } from "./kv.ts";
import type { Entry, Lease, LeaseOptions } from "./store.ts";

/** Who holds something, and when others may take over. */
interface Claim {
  readonly replica: string;
  /** Tells two claims of one replica apart, and finds a write again of which no answer came. */
  readonly token: string;
  readonly ttl: number;
}

/** How a lease is waited for. */
interface Wait {
  readonly turn: Turn;
  readonly waiting: AbortSignal;
  readonly margin: number;
}

/** How it is held. */
interface Hold {
  readonly fence: number;
  /** When it was asked for, by `performance.now()`. */
  readonly since: number;
  readonly margin: number;
}

/** What is held by one replica of a store at a time. */
export class StoreLeases {
  readonly #connection: StoreConnection;
  readonly #kv: StoreKv<Claim>;
  readonly #bucket: string;

  constructor(connection: StoreConnection, bucket: string) {
    this.#connection = connection;
    this.#bucket = bucket;
    this.#kv = new StoreKv(connection, bucket, {}, () => {});
  }

  async acquire(key: string, { ttl, signal, margin = 0 }: LeaseOptions): Promise<Lease> {
    if (margin < 0 || margin > ttl / 2)
      throw new GatewayError(
        "invalid",
        `A margin of ${margin} ms does not fit a ttl of ${ttl} ms.`,
        {
          hint: "Take at most half the ttl: it is renewed each third of it.",
        },
      );
    const waiting = AbortSignal.any([this.#connection.closed, ...(signal ? [signal] : [])]);
    const claim = { replica: this.#connection.replica, token: randomUUID(), ttl };
    const turn = new Turn();
    const stop = await this.#connection.again(
      () => this.#connection.run((driver) => driver.watch(this.#bucket, isAbout(key, turn))),
      waiting,
    );
    try {
      return await this.#waitFor(key, claim, { turn, waiting, margin });
    } finally {
      await stop();
    }
  }

  async #waitFor(key: string, claim: Claim, { turn, waiting, margin }: Wait): Promise<Lease> {
    // A holder is dead when one revision stays for the holder's ttl, by this gateway's own clock.
    let seen = { rev: 0, at: 0 };
    for (;;) {
      waiting.throwIfAborted();
      const askedAt = performance.now();
      const entry = await this.#connection.again(() => this.#kv.get(key), waiting);
      if (entry?.value.token === claim.token)
        return this.#hold(key, claim, { fence: entry.rev, since: askedAt, margin });
      if (entry && entry.rev !== seen.rev) seen = { rev: entry.rev, at: performance.now() };
      if (!entry || this.#isDead(entry, seen.at)) {
        const take = (): Promise<number | undefined> =>
          this.#kv.update(key, claim, entry?.rev ?? 0);
        const rev = await this.#connection.again(take, waiting);
        if (rev !== undefined)
          return this.#hold(key, claim, { fence: rev, since: askedAt, margin });
        continue;
      }
      // No later than it can be dead: a replica that waits for what it did waits for this.
      const left = seen.at + entry.value.ttl - performance.now();
      await turn.next(Math.min(claim.ttl / 4, entry.value.ttl / 4, Math.max(left, 1)), waiting);
    }
  }

  #isDead({ value }: Entry<Claim>, seenAt: number): boolean {
    // Nobody else uses a store that is not shared: who held it is an earlier process.
    const isOfBefore =
      !this.#connection.driver.shared && value.replica !== this.#connection.replica;
    return isOfBefore || performance.now() - seenAt >= value.ttl;
  }

  /** Shows life each third of the time that it has. What is not renewed in time, counted from before the last renewal began, is lost. */
  #hold(key: string, claim: Claim, { fence, since, margin }: Hold): Lease {
    const lost = new AbortController();
    const released = new AbortController();
    const over = AbortSignal.any([lost.signal, released.signal, this.#connection.closed]);
    let rev = fence;
    let renewedAt = since;
    const left = (): number => renewedAt + claim.ttl - margin - performance.now();
    let watchdog: NodeJS.Timeout | undefined;
    const watch = (): void => {
      if (left() <= 0) lost.abort();
      else if (!over.aborted) watchdog = setTimer(watch, Math.max(left(), 1)).unref();
    };
    watch();
    const renew = async (): Promise<void> => {
      for (;;) {
        await pause((claim.ttl - margin) / 3, over);
        if (over.aborted) return;
        const startedAt = performance.now();
        const next = await this.#connection.again(() => this.#renew(key, claim, rev), over);
        // What was to be ended in the margin has been given up by then.
        if (next === undefined || lost.signal.aborted) return lost.abort();
        rev = next;
        renewedAt = startedAt;
      }
    };
    const renewing = renew().catch(() => lost.abort());
    return {
      fence,
      signal: lost.signal,
      get isHeld() {
        return !lost.signal.aborted && !released.signal.aborted && left() > 0;
      },
      release: async () => {
        if (released.signal.aborted) return;
        released.abort();
        clearTimeout(watchdog);
        await renewing;
        if (!lost.signal.aborted) await this.#kv.delete(key, rev).catch(() => {});
      },
    };
  }

  /** @returns the new revision; `undefined` when somebody else holds it */
  async #renew(key: string, claim: Claim, rev: number): Promise<number | undefined> {
    const next = await this.#kv.update(key, claim, rev);
    if (next !== undefined) return next;
    const entry = await this.#kv.get(key);
    return entry?.value.token === claim.token ? entry.rev : undefined;
  }
}

/** Renewals of all other leases are in the same bucket, and each would wake everyone who waits. */
function isAbout(key: string, turn: Turn): (changed: string | undefined) => void {
  return (changed) => {
    if (changed === undefined || changed === key) turn.wake();
  };
}

/** A wait that anyone may end. */
class Turn {
  #wake = (): void => {};
  #isDue = false;

  wake(): void {
    this.#isDue = true;
    this.#wake();
  }

  async next(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isDue) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      await pause(ms, AbortSignal.any([signal, woken.signal]));
    }
    this.#isDue = false;
  }
}
