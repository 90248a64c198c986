import { ASK_TIMEOUTS, askOnce, type Store } from "propylon/store";
import { z } from "zod";

const TOPIC = "metrics/hour";
/** Tools that are shown of those that were called most, and of those that took longest. */
const MAX_SHOWN = 5;
const MAX_TOOLS = 200_000;

const timesSchema = z.array(z.number()).max(1_000);
const toolSchema = z.object({
  server: z.string(),
  tool: z.string(),
  calls: z.number(),
  failed: z.number(),
  times: timesSchema,
});
const hourSchema = z.object({
  bounds: timesSchema,
  minutes: z
    .array(z.object({ at: z.number(), calls: z.number(), failed: z.number(), times: timesSchema }))
    .max(61),
  tools: z.array(toolSchema).max(MAX_TOOLS),
});

/** What happened to one tool. */
export interface ToolTimes {
  readonly server: string;
  readonly tool: string;
  readonly calls: number;
  readonly failed: number;
  readonly times: readonly number[];
}

/** What happened in the last hour at one replica. */
export interface HourFigures {
  /** Upper bounds of durations in seconds; `times` counts what is below each, and what is above the last. */
  readonly bounds: readonly number[];
  readonly minutes: readonly (Omit<ToolTimes, "server" | "tool"> & { readonly at: number })[];
  readonly tools: readonly ToolTimes[];
}

/** One minute of `GET /_meta/metrics/hour`. */
export interface MinuteView {
  /** When it began, ISO 8601. */
  readonly at: string;
  /** Tool calls that ended in it. */
  readonly calls: number;
  readonly failed: number;
  /** Milliseconds that 95 of 100 calls did not exceed, as Prometheus makes it of the histogram; `null` without calls. */
  readonly p95: number | null;
}

/** One tool of `GET /_meta/metrics/hour`. */
export interface BusyTool extends Pick<ToolTimes, "server" | "tool" | "calls" | "failed"> {
  readonly p95: number;
}

/** Answer of `GET /_meta/metrics/hour`. */
export interface HourView {
  readonly ok: true;
  /** At most 60, the present one last; minutes before the start of the gateway are not there. */
  readonly minutes: readonly MinuteView[];
  readonly busiest: readonly BusyTool[];
  readonly slowest: readonly BusyTool[];
  /** Replicas that did not answer in time: their calls are not there. */
  readonly missing: readonly string[];
}

/** The last hour of all replicas of the store, of this one alone where none is shared. */
export class SharedHour {
  readonly #store: Store;
  readonly #own: () => HourFigures;

  /** @param own figures of this gateway */
  constructor(store: Store, own: () => HourFigures) {
    this.#store = store;
    this.#own = own;
  }

  /** Tells other replicas of the figures here. @returns ends that */
  async serve(): Promise<() => void> {
    if (!this.#store.shared) return () => {};
    const own = this.#own;
    const end = await this.#store.answer(TOPIC, async function* () {
      yield await Promise.resolve(own());
    });
    return () => void end();
  }

  /** @throws {GatewayError} `unavailable` while the store is away */
  async read(): Promise<HourView> {
    const own = this.#own();
    const ids = this.#store.shared
      ? (await this.#store.replicas()).map(({ id }) => id)
      : [this.#store.replica];
    const answers = await Promise.all(
      ids.map(async (id) => (id === this.#store.replica ? own : this.#ask(id))),
    );
    // Other bounds are those of a config that is being replaced.
    const fitting = answers.filter((each) => each?.bounds.join() === own.bounds.join());
    const missing = ids.filter((_id, at) => !fitting.includes(answers[at]));
    return { ok: true, ...viewOf(fitting as readonly HourFigures[], own.bounds), missing };
  }

  #ask(replica: string): Promise<HourFigures | undefined> {
    const question = { topic: TOPIC, body: {}, schema: hourSchema, timeout: ASK_TIMEOUTS.look };
    return askOnce(this.#store, replica, question).catch(() => undefined);
  }
}

function viewOf(
  all: readonly HourFigures[],
  bounds: readonly number[],
): Pick<HourView, "minutes" | "busiest" | "slowest"> {
  const minutes = merged(
    all.flatMap((each) => each.minutes),
    ({ at }) => String(at),
  )
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, calls, failed, times }) => {
      const p95 = quantile(0.95, times, bounds);
      return { at: new Date(at).toISOString(), calls, failed, p95 };
    });
  const tools = merged(
    all.flatMap((each) => each.tools),
    ({ server, tool }) => `${server}\0${tool}`,
  ).map(({ times, ...tool }) => ({ ...tool, p95: quantile(0.95, times, bounds) ?? 0 }));
  return {
    minutes,
    busiest: tools.toSorted((one, other) => other.calls - one.calls).slice(0, MAX_SHOWN),
    slowest: tools.toSorted((one, other) => other.p95 - one.p95).slice(0, MAX_SHOWN),
  };
}

/** Rows of one key as one row. */
function merged<
  T extends { readonly calls: number; readonly failed: number; readonly times: readonly number[] },
>(rows: readonly T[], keyOf: (row: T) => string): readonly T[] {
  const byKey = new Map<string, T>();
  for (const row of rows) {
    const before = byKey.get(keyOf(row));
    const times = before?.times.map((count, at) => count + (row.times[at] ?? 0));
    const sum = before && {
      ...before,
      calls: before.calls + row.calls,
      failed: before.failed + row.failed,
      times: times!,
    };
    byKey.set(keyOf(row), sum ?? row);
  }
  return [...byKey.values()];
}

/** Milliseconds, as `histogram_quantile` of Prometheus has it: even within a bucket, and at most the last bound. */
function quantile(
  share: number,
  times: readonly number[],
  bounds: readonly number[],
): number | null {
  const wanted = share * times.reduce((sum, count) => sum + count, 0);
  if (wanted === 0) return null;
  let below = 0;
  for (const [at, bound] of bounds.entries()) {
    const count = times[at]!;
    if (below + count >= wanted) {
      const from = bounds[at - 1] ?? 0;
      return Math.round((from + ((bound - from) * (wanted - below)) / count) * 10_000) / 10;
    }
    below += count;
  }
  return (bounds.at(-1) ?? 0) * 1_000;
}
