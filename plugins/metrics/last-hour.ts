import { isFailure, setTimer, type CallOutcome } from "propylon/kit";
import { OTHER, type CallCounts } from "./counts.ts";
import type { HourFigures, ToolTimes } from "./hour-figures.ts";

const MINUTE_MS = 60_000;
const MINUTES = 60;
/** Figures of single tools are marked less often: there may be a thousand of them. */
const TOOLS_EVERY = 10;

/** How far the counters were at the beginning of a minute. */
interface Mark {
  readonly at: number;
  readonly calls: number;
  readonly failed: number;
  readonly times: readonly number[];
}

/** How far those of each tool were, by the object that its labels are. */
interface ToolMark {
  readonly at: number;
  readonly tools: ReadonlyMap<object, Pick<ToolTimes, "calls" | "failed" | "times">>;
}

/**
 * The last hour by minutes: the counters are read at the beginning of each, so that a call costs nothing more. Lives through reloads.
 */
export class LastHour {
  readonly #counts: CallCounts;
  readonly #now: () => number;
  readonly #marks: Mark[] = [];
  readonly #toolMarks: ToolMark[] = [];

  /** @param now milliseconds since 1970 */
  constructor(counts: CallCounts, now: () => number = Date.now) {
    this.#counts = counts;
    this.#now = now;
    this.mark();
  }

  /** Marks the beginning of each minute. @returns ends that */
  watch(): () => void {
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      timer = setTimer(
        () => {
          this.mark();
          wait();
        },
        MINUTE_MS - (this.#now() % MINUTE_MS),
      ).unref();
    };
    wait();
    return () => clearTimeout(timer);
  }

  /** Remembers how far the counters are, once a minute. */
  mark(): void {
    const at = Math.floor(this.#now() / MINUTE_MS) * MINUTE_MS;
    if (at === this.#marks.at(-1)?.at) return;
    this.#marks.push(markOf(this.#counts, at));
    if (at - (this.#toolMarks.at(-1)?.at ?? 0) >= TOOLS_EVERY * MINUTE_MS)
      this.#toolMarks.push({ at, tools: new Map(toolsOf(this.#counts)) });
    for (const marks of [this.#marks, this.#toolMarks])
      while (marks.length > 1 && marks[0]!.at <= at - MINUTES * MINUTE_MS) marks.shift();
  }

  /** What happened in each minute, the present one last, and in the hour to each tool that was called. */
  read(): HourFigures {
    // A machine that slept marked nothing.
    this.mark();
    const end = markOf(this.#counts, this.#now());
    const minutes = this.#marks.map((from, index) => {
      const to = this.#marks[index + 1] ?? end;
      return {
        at: from.at,
        calls: to.calls - from.calls,
        failed: to.failed - from.failed,
        times: minus(to.times, from.times),
      };
    });
    return { bounds: this.#counts.durations.bounds, minutes, tools: this.#tools() };
  }

  #tools(): readonly ToolTimes[] {
    const before = this.#toolMarks[0]?.tools;
    const found: ToolTimes[] = [];
    for (const [labels, now] of toolsOf(this.#counts)) {
      const from = before?.get(labels);
      const calls = now.calls - (from?.calls ?? 0);
      if (calls === 0 || labels.tool === OTHER) continue;
      const failed = now.failed - (from?.failed ?? 0);
      const times = from ? minus(now.times, from.times) : now.times;
      found.push({ ...labels, calls, failed, times });
    }
    return found;
  }
}

function markOf({ durations, errors }: CallCounts, at: number): Mark {
  let failed = 0;
  for (const count of errors.values()) failed += count;
  return { at, calls: durations.count, failed, times: [...durations.counts] };
}

function* toolsOf(counts: CallCounts) {
  for (const { labels, calls, durations } of counts.tools()) {
    const failed = Object.entries(calls)
      .filter(([outcome]) => isFailure(outcome as CallOutcome))
      .reduce((sum, [, count]) => sum + count, 0);
    yield [labels, { calls: durations.count, failed, times: [...durations.counts] }] as const;
  }
}

function minus(to: readonly number[], from: readonly number[]): readonly number[] {
  return to.map((count, at) => count - from[at]!);
}
