import { setTimer } from "propylon/kit";
/** Time and chance, so that tests can hold both still. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back once; the return value prevents it. */
  after(ms: number, callback: () => void): () => void;
  /** At least 0, below 1. */
  random(): number;
}

/** The real ones. Waiting does not keep the process alive. */
export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimer(callback, ms).unref();
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
