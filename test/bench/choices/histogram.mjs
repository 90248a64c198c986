import { Histogram, Registry } from "prom-client";
import { Distribution, Family } from "../../../dist/modules/plugins/metrics/distribution.js";
import { inTurns } from "./turns.mjs";

const OPERATIONS = 200_000;
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const LABELS = ["server", "transport", "method", "tool", "error"];
const SERIES = Array.from({ length: 200 }, (_, at) => [
  `server-${at % 10}`,
  "http",
  "tools/call",
  `tool-${at}`,
  "",
]);
const VALUES = SERIES.map((_, at) => (at % 97) / 40);

/** One observation of one of 200 series with five labels. */
export function histogram() {
  const bound = SERIES.map(() => new Distribution(BOUNDS));
  const family = new Family(LABELS, BOUNDS);
  const library = new Histogram({
    name: "durations",
    help: "Durations.",
    labelNames: LABELS,
    buckets: BOUNDS,
    registers: [new Registry()],
  });
  const named = SERIES.map((values) =>
    Object.fromEntries(LABELS.map((label, at) => [label, values[at]])),
  );
  const children = SERIES.map((values) => library.labels(...values));
  return inTurns(
    {
      "ours, bound to its series as calls do": each((at) => bound[at].observe(VALUES[at])),
      "ours, looked up by its labels": each((at) => family.of(SERIES[at]).observe(VALUES[at])),
      "prom-client, labels()": each((at) => children[at].observe(VALUES[at])),
      "prom-client, observe(labels)": each((at) => library.observe(named[at], VALUES[at])),
    },
    OPERATIONS,
  );
}

function each(observe) {
  return () => {
    for (let at = 0; at < OPERATIONS; at++) observe(at % SERIES.length);
  };
}
