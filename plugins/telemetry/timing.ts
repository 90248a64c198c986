import type { Attributes } from "@opentelemetry/api";
import type { Answer, Call } from "propylon";
import { describeOperation, failureAttributes, seriesKey } from "./attributes.ts";
import type { KeyedSeries } from "./histogram.ts";

/** Where the duration of a call is counted. */
export interface Measured {
  readonly series: KeyedSeries;
  /** `""` where the histogram does not tell servers apart. */
  readonly server: string;
}

/** What else is told of the end of a call: its milliseconds, and how it failed. */
export type OnEnd = (took: number, failure: Attributes | undefined) => void;

/** Measures a call that began a moment ago. */
export function measureCall(
  call: Call,
  started: number,
  answer: Promise<Answer>,
  { series, server }: Measured,
  onEnd?: OnEnd,
): void {
  const end = (outcome: Answer | Error): void => {
    const took = performance.now() - started;
    const failure = failureAttributes(outcome);
    const describe = (): Attributes => ({ ...describeOperation(call, server), ...failure });
    series.find(seriesKey(call, server, failure), describe).record(took / 1_000);
    onEnd?.(took, failure);
  };
  answer.then(end, (thrown: unknown) => end(thrown instanceof Error ? thrown : new Error()));
}
