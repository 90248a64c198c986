import type { Progress } from "propylon";
import { LITERAL_PROGRESS } from "propylon/internal";

/**
 * Makes progress values of one token strictly increasing, which MCP demands ("MUST increase") and upstreams break.
 *
 * A value that does not increase is dropped, unless it carries a message: then it is moved up by the smallest useful
 * step, since the message is news even if the number is not.
 */
export class ProgressOrder {
  #last = Number.NEGATIVE_INFINITY;

  /** The report as it may be sent, or `undefined` to drop it. */
  admit(report: Progress): Progress | undefined {
    const { progress } = report;
    if (!Number.isFinite(progress)) return undefined;
    if (report[LITERAL_PROGRESS] === true) return report;
    if (progress > this.#last) {
      this.#last = progress;
      return report;
    }
    const bumped = this.#last + Math.max(Math.abs(this.#last), 1) * 1e-9;
    if (report.message === undefined || report.message === null || !Number.isFinite(bumped))
      return undefined;
    this.#last = bumped;
    const { total } = report;
    // `total == progress` marks the end of a part, and an end that is moved stays one.
    const isEnd = typeof total === "number" && progress >= total;
    return { ...report, progress: bumped, ...(isEnd && { total: bumped }) };
  }
}
