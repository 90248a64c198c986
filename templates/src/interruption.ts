import { constants } from "node:os";
import { setImmediate as turn } from "node:timers/promises";

/** Signals by which somebody interrupts. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** One of the signals by which somebody interrupts. */
export type Signal = (typeof SIGNALS)[number];

/**
 * Whether somebody interrupts: until {@link hold} a signal ends the process, as nothing is written by then; afterwards it is
 * kept, so that files are written altogether or not at all.
 */
export class Interruption {
  #isHeld = false;
  #signal: Signal | undefined;
  #pass: ((signal: Signal) => void) | undefined;

  /** @param leave what to do on a signal while nothing is written */
  constructor(leave: (signal: Signal) => void) {
    for (const signal of SIGNALS)
      process.on(signal, () => {
        this.#signal = signal;
        if (this.#isHeld) this.#pass?.(signal);
        else leave(signal);
      });
  }

  /** The signal that came, if any did by now. */
  async signal(): Promise<Signal | undefined> {
    // A signal is told after the turn of the event loop that finds it.
    await turn();
    await turn();
    return this.#signal;
  }

  /** From now on a signal does not end the process. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Passes signals on, e.g. to a child; `undefined` stops that. */
  pass(to: ((signal: Signal) => void) | undefined): void {
    this.#pass = to;
  }
}

/** Exit code that shells give a program which a signal ended. */
export function exitCodeOf(signal: Signal): number {
  return 128 + constants.signals[signal];
}
