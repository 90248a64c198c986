import type { Progress } from "propylon";
import { setTimer } from "propylon/kit";
import { LITERAL_PROGRESS } from "propylon/internal";
import type { ProgressOptions } from "./options.ts";

/** Where reports of a flood come from: parallel tools name themselves in front of their message. */
const SOURCE = /^[^\s/:]+\/[^\s:]+(?=: )/;

/**
 * Passes on the progress of one call: every report while they are few, the latest of each source when they flood. That values
 * increase is seen to where they leave the gateway, unless they are meant literally. Never throws.
 */
export class Meter {
  readonly #send: (report: Progress) => void;
  readonly #options: Pick<ProgressOptions, "mode" | "burst" | "rate">;
  /** Reports that may still pass at once. */
  #allowance: number;
  #countedAt = performance.now();
  /** Held reports by source, oldest source first. */
  readonly #held = new Map<string, Progress>();
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(
    send: (report: Progress) => void,
    options: Pick<ProgressOptions, "mode" | "burst" | "rate">,
  ) {
    this.#send = send;
    this.#options = options;
    this.#allowance = options.burst;
  }

  /** Takes a report in. */
  report(report: Progress): void {
    if (this.#isOver) return;
    if (this.#held.size === 0 && this.#mayPass()) return this.#pass(report);
    const source = SOURCE.exec(report.message ?? "")?.[0] ?? "";
    // Behind those that came before it, so that what a client sees last is what happened last.
    this.#held.delete(source);
    this.#held.set(source, report);
    this.#timer ??= setTimer(() => this.#release(), 1_000 / this.#options.rate);
  }

  /** Sends what is held; nothing is taken in any more. Before the result, so that the last state is known. */
  end(): void {
    clearTimeout(this.#timer);
    for (const report of this.#held.values()) this.#pass(report);
    this.#held.clear();
    this.#isOver = true;
  }

  #release(): void {
    this.#timer = undefined;
    const [oldest] = this.#held;
    if (!oldest) return;
    this.#held.delete(oldest[0]);
    this.#pass(oldest[1]);
    if (this.#held.size > 0)
      this.#timer = setTimer(() => this.#release(), 1_000 / this.#options.rate);
  }

  /** A bucket of tokens: full at first, filled again by time. */
  #mayPass(): boolean {
    const now = performance.now();
    const { burst, rate } = this.#options;
    this.#allowance = Math.min(burst, this.#allowance + ((now - this.#countedAt) / 1_000) * rate);
    this.#countedAt = now;
    if (this.#allowance < 1) return false;
    this.#allowance--;
    return true;
  }

  #pass(report: Progress): void {
    const isLiteral = this.#options.mode === "compat";
    try {
      this.#send(isLiteral ? { ...report, [LITERAL_PROGRESS]: true } : report);
    } catch {
      // A client that is gone is not a reason to stop working.
    }
  }
}
