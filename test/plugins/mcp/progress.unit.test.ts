import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProgressOrder } from "../../../plugins/mcp/call/client-call.ts";
import { rounds } from "../../fixtures/ci.ts";

describe("ProgressOrder", () => {
  it("P103: whatever a server reports, what goes out increases strictly", () => {
    const report = fc.record(
      {
        progress: fc.oneof(fc.double(), fc.integer({ min: -5, max: 5 })),
        message: fc.option(fc.string(), { nil: undefined }),
      },
      { requiredKeys: ["progress"] },
    );
    fc.assert(
      fc.property(fc.array(report, { maxLength: 50 }), (reports) => {
        const order = new ProgressOrder();
        const sent = reports.flatMap((given) => order.admit(given as { progress: number }) ?? []);
        for (let i = 1; i < sent.length; i++)
          expect(sent[i]!.progress).toBeGreaterThan(sent[i - 1]!.progress);
      }),
      { numRuns: rounds(2_000) },
    );
  });

  it("passes increasing reports on untouched", () => {
    const order = new ProgressOrder();
    const report = { progress: 1, total: 3, message: "a" };
    expect(order.admit(report)).toBe(report);
  });

  it("keeps a message whose number went back, and drops a number that says nothing new", () => {
    const order = new ProgressOrder();
    order.admit({ progress: 2 });
    expect(order.admit({ progress: 1 })).toBeUndefined();
    expect(order.admit({ progress: 1, message: "done" })?.progress).toBeCloseTo(2, 6);
  });
});
