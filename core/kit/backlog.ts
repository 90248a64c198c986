/** Something whose bytes wait for a client to take them. */
export interface Unread {
  /** `ref` of the principal it is for; `undefined` before anybody is known. */
  readonly owner: string | undefined;
  /** Bytes handed over and not taken. */
  readonly unread: number;
  /** Changes whenever something was taken. */
  readonly progress: number;
  /** Gives it up. */
  cut(): void;
}

/** Why an answer was cut: nothing of it was taken in time, or its principal or all together left too much unread. */
export type CutReason = "stalled" | "principal" | "total";

/**
 * One answer that was cut.
 *
 * @example gateway.hook("answer:cut", ({ bytes, reason }: Cut) => gateway.log.warn({ bytes, reason }));
 */
export interface Cut {
  readonly principal: string;
  readonly bytes: number;
  readonly reason: CutReason;
}

/** Bounds of a {@link Backlog}. */
export interface BacklogLimits {
  /** Bytes that one principal may leave unread; a single answer may be larger. */
  readonly unread: number;
  /** Bytes that all may leave unread. */
  readonly unreadTotal: number;
  /** Milliseconds in which something of an answer has to be taken. */
  readonly unreadTimeout: number;
}

/** When something of it was last taken. */
interface Watch {
  progress: number;
  since: number;
}

/**
 * What clients asked for and do not read. Only what the kernel did not take at once is here, so an ordinary answer costs nothing.
 * Memory is held until the last byte is out: without a bound 40 requests of 300 bytes for a large result were 2 GB.
 *
 * @example host.backlog.drop((answer) => sessionOf(answer) === session.id);
 */
export class Backlog {
  readonly #limits: BacklogLimits;
  readonly #onCut: (cut: Cut) => void;
  /** In the order in which they came. */
  readonly #open = new Map<Unread, Watch>();
  #sweep: NodeJS.Timeout | undefined;
  #isChecking = false;

  constructor(limits: BacklogLimits, onCut: (cut: Cut) => void) {
    this.#limits = limits;
    this.#onCut = onCut;
  }

  /** Bytes unread at this moment. */
  get size(): number {
    let sum = 0;
    for (const { unread } of this.#open.keys()) sum += unread;
    return sum;
  }

  /** Takes note of something that was not taken at once. */
  note(answer: Unread): void {
    if (!this.#open.has(answer))
      this.#open.set(answer, { progress: answer.progress, since: performance.now() });
    this.#sweep ??= setInterval(() => this.#look(), Math.min(this.#period(), 1_000)).unref();
    if (this.#isChecking) return;
    this.#isChecking = true;
    // Once for all that is written in this turn.
    setImmediate(() => this.#bound());
  }

  /** Forgets what is out, or gone. */
  forget(answer: Unread): void {
    if (!this.#open.delete(answer) || this.#open.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  /** Gives up what matches, for a client that said it wants none of it. */
  drop(matches: (answer: Unread) => boolean): void {
    for (const answer of this.#open.keys())
      if (matches(answer)) {
        this.forget(answer);
        answer.cut();
      }
  }

  #period(): number {
    return Math.max(this.#limits.unreadTimeout / 4, 10);
  }

  #look(): void {
    const now = performance.now();
    for (const [answer, watch] of this.#open) {
      const { progress, unread } = answer;
      if (unread === 0) this.forget(answer);
      else if (progress !== watch.progress) Object.assign(watch, { progress, since: now });
      else if (now - watch.since >= this.#limits.unreadTimeout) this.#cut(answer, "stalled");
    }
    this.#bound();
  }

  /** Cuts as long as a bound is passed: first what its principal has waited with longest, and of who has most. */
  #bound(): void {
    this.#isChecking = false;
    const owners = new Map<string, Unread[]>();
    for (const answer of this.#open.keys()) {
      const owner = answer.owner ?? "";
      const known = owners.get(owner);
      if (known) known.push(answer);
      else owners.set(owner, [answer]);
    }
    for (const answers of owners.values()) this.#shorten(answers);
    this.#shortenAll([...owners.values()]);
  }

  #shorten(answers: Unread[]): void {
    let sum = sumOf(answers);
    while (sum > this.#limits.unread && answers.length > 1)
      sum -= this.#cut(answers.shift()!, "principal");
  }

  /** The last answer of all may be larger than the bound. */
  #shortenAll(owners: readonly Unread[][]): void {
    let sum = sumOf(owners.flat());
    while (sum > this.#limits.unreadTotal && this.#open.size > 1) {
      const most = owners.reduce((a, b) => (sumOf(b) > sumOf(a) ? b : a));
      if (most.length === 0) return;
      sum -= this.#cut(most.shift()!, "total");
    }
  }

  #cut(answer: Unread, reason: CutReason): number {
    const { owner = "", unread: bytes } = answer;
    this.forget(answer);
    answer.cut();
    this.#onCut({ principal: owner, bytes, reason });
    return bytes;
  }
}

function sumOf(answers: readonly Unread[]): number {
  let sum = 0;
  for (const { unread } of answers) sum += unread;
  return sum;
}
