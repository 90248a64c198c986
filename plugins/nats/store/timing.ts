/** How long things take, in milliseconds, and how many go together. */
export interface Timing {
  /** A call of the driver, with all that it asks of the server. */
  readonly call: number;
  /** The first connection. */
  readonly open: number;
  /** Between two looks for what was stored and not told. */
  readonly check: number;
  /** Between two sweeps. */
  readonly sweep: number;
  /**
   * What parts must have reached in age to count as left by a writer that was killed: far longer than a write may take, and than a
   * server keeps a connection of a process that stands still.
   */
  readonly partAge: number;
  /** Messages of each kind that a sweep remembers before it removes them. */
  readonly batch: number;
}

/** What fits a store that several replicas use. */
export const TIMING: Timing = {
  call: 4_500,
  open: 10_000,
  check: 20_000,
  sweep: 600_000,
  partAge: 900_000,
  batch: 10_000,
};
