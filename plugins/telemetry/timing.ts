import type { Attributes } from "@opentelemetry/api";
import type { Answer, Call } from "propylon";
import { describeOperation, failureAttributes, seriesKey } from "./attributes.ts";
import { MAX_SERIES, type KeyedSeries, type Series } from "./histogram.ts";

/** The durations of calls, by what is told of them and of how they failed. */
export class CallSeries {
  readonly #all: KeyedSeries;
  /** Those of tools that did not fail, by server and name: no key is made for the usual call. */
  readonly #usual = new Map<string, Map<string, Series>>();
  #size = 0;

  constructor(all: KeyedSeries) {
    this.#all = all;
  }

  /** @param server `""` where servers are not told apart */
  find(call: Call, server: string, failure: Attributes | undefined): Series {
    if (call.method !== "tools/call" || failure) return this.#find(call, server, failure);
    return this.#usual.get(server)?.get(call.name) ?? this.#learn(call, server);
  }

  #find(call: Call, server: string, failure?: Attributes): Series {
    const describe = (): Attributes => ({ ...describeOperation(call, server), ...failure });
    return this.#all.find(seriesKey(call, server, failure), describe);
  }

  #learn(call: Call, server: string): Series {
    const series = this.#find(call, server);
    if (this.#size++ < MAX_SERIES) {
      const tools = this.#usual.get(server) ?? new Map<string, Series>();
      this.#usual.set(server, tools.set(call.name, series));
    }
    return series;
  }
}

/** Where the duration of a call is counted. */
export interface Measured {
  readonly series: CallSeries;
  /** `""` where the histogram does not tell servers apart. */
  readonly server: string;
}

/** What else is told of the end of a call: its milliseconds, and how it failed. */
export type OnEnd = (took: number, failure: Attributes | undefined) => void;

/** The time of a call, or of a part of it, from now on. */
export class CallTiming {
  readonly #call: Call;
  readonly #measured: Measured;
  readonly #onEnd: OnEnd | undefined;
  readonly #started = performance.now();

  constructor(call: Call, measured: Measured, onEnd?: OnEnd) {
    this.#call = call;
    this.#measured = measured;
    this.#onEnd = onEnd;
  }

  end(now: number, failure: Attributes | undefined): void {
    const { series, server } = this.#measured;
    const took = now - this.#started;
    series.find(this.#call, server, failure).record(took / 1_000);
    this.#onEnd?.(took, failure);
  }
}

/** Ends a timing with an answer. @param inner what ends with the same, and is told first: one look at the answer serves both */
export function endTimings(answer: Promise<Answer>, timing: CallTiming, inner?: CallTiming): void {
  const end = (outcome: Answer | Error): void => {
    const now = performance.now();
    const failure = failureAttributes(outcome);
    inner?.end(now, failure);
    timing.end(now, failure);
  };
  answer.then(end, (thrown: unknown) => end(thrown instanceof Error ? thrown : new Error()));
}
