import { describe, expect, it, vi } from "vitest";
import type { Progress } from "../../../core/index.ts";
import { LITERAL_PROGRESS } from "../../../core/internal.ts";
import { Meter } from "../../../plugins/progress/meter.ts";

const OPTIONS = { mode: "strict", burst: 1_000, rate: 20 } as const;

function collect(options: Partial<ConstructorParameters<typeof Meter>[1]> = {}) {
  const sent: Progress[] = [];
  const meter = new Meter((report) => void sent.push(report), { ...OPTIONS, ...options });
  return { meter, sent };
}

describe("Meter", () => {
  it("leaves reports that increase as they are, with every member", () => {
    const { meter, sent } = collect();
    const reports = [
      { progress: 0, message: "a" },
      { progress: 0.5, total: 2, extra: { x: 1 } },
      { progress: 2, total: 2 },
    ];
    for (const report of reports) meter.report(report);
    expect(sent).toEqual(reports);
  });

  it("C22: compat sends the literal values", () => {
    const { meter, sent } = collect({ mode: "compat" });
    const reports = [
      { progress: 0 },
      { progress: 1 },
      { progress: 1, total: 1 },
      { progress: 1, total: 1 },
    ];
    for (const report of reports) meter.report(report);
    expect(sent).toEqual(reports.map((report) => ({ ...report, [LITERAL_PROGRESS]: true })));
  });

  it("P123: a flood keeps the order and the last state of every source", () => {
    vi.useFakeTimers();
    try {
      const { meter, sent } = collect({ burst: 10, rate: 20 });
      for (let at = 1; at <= 10_000; at++)
        meter.report({ progress: at, message: `${at % 2 === 0 ? "a/one" : "b/two"}: ${at}` });
      expect(sent).toHaveLength(10);
      vi.advanceTimersByTime(120);
      expect(sent.slice(10).map(({ message }) => message)).toEqual(["b/two: 9999", "a/one: 10000"]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("sends what is held before the result, and nothing after it", () => {
    const { meter, sent } = collect({ burst: 1 });
    for (let at = 1; at <= 5; at++) meter.report({ progress: at });
    meter.end();
    meter.report({ progress: 6 });
    expect(sent.map(({ progress }) => progress)).toEqual([1, 5]);
  });

  it("P120: a failing send disturbs nobody", () => {
    const meter = new Meter(() => {
      throw new Error("gone");
    }, OPTIONS);
    expect(() => meter.report({ progress: 1 })).not.toThrow();
    expect(() => meter.end()).not.toThrow();
  });
});
