/** A call that ran: when it was made, and when it was let through at the latest, by `performance.now()`. */
export interface Ran {
  readonly from: number;
  readonly to: number;
}

/**
 * By how much the worst window is above what a bucket may let through; windows count what lies wholly in them.
 *
 * @param rate calls a second
 */
export function excess(ran: readonly Ran[], rate: number, burst: number): number {
  let worst = -Infinity;
  for (const { from } of ran) {
    const inside = ran.filter((each) => each.from >= from).map(({ to }) => to);
    inside.sort((a, b) => a - b);
    for (const [at, to] of inside.entries())
      worst = Math.max(worst, at + 1 - burst - ((to - from) * rate) / 1_000);
  }
  return worst;
}
