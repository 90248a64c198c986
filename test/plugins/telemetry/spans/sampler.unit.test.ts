import { ROOT_CONTEXT, trace } from "@opentelemetry/api";
import {
  ParentBasedSampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-base";
import fc from "fast-check";
import { expect, it } from "vitest";
import { TraceSampler } from "../../../../plugins/telemetry/spans/sampler.ts";

const id = (length: number) =>
  fc
    .bigInt({ min: 1n, max: 16n ** BigInt(length) - 1n })
    .map((value) => value.toString(16).padStart(length, "0"));
const caller = fc.option(fc.record({ spanId: id(16), traceFlags: fc.constantFrom(0, 1, 3) }));

it("keeps the traces that the samplers of the SDK keep", () => {
  const ratio = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));
  fc.assert(
    fc.property(ratio, id(32), caller, fc.boolean(), (share, traceId, around, followsCaller) => {
      const own = new TraceSampler({ ratio: share, followsCaller });
      const root = new TraceIdRatioBasedSampler(share);
      const theirs = followsCaller ? new ParentBasedSampler({ root }) : root;
      const context = around
        ? trace.setSpanContext(ROOT_CONTEXT, { traceId, ...around })
        : ROOT_CONTEXT;
      const { decision } = theirs.shouldSample(context, traceId, "name", 0, {}, []);
      expect(own.shouldSample(context, traceId)).toEqual({ decision });
      expect(own.keeps(traceId, around?.traceFlags)).toBe(
        decision === SamplingDecision.RECORD_AND_SAMPLED,
      );
    }),
    { numRuns: 1_000 },
  );
});
