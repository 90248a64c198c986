import { describe, expect, it } from "vitest";
import {
  readLimits,
  readQueue,
  readSampler,
  readSender,
} from "../../../plugins/telemetry/environment.ts";

const NOTHING = { endpoint: undefined, headers: {} };

describe("variables of OpenTelemetry", () => {
  it.each([
    [{}, { ratio: 1, followsCaller: true }],
    [{ OTEL_TRACES_SAMPLER: "always_on" }, { ratio: 1, followsCaller: false }],
    [{ OTEL_TRACES_SAMPLER: "always_off" }, { ratio: 0, followsCaller: false }],
    [{ OTEL_TRACES_SAMPLER: "parentbased_always_off" }, { ratio: 0, followsCaller: true }],
    [
      { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" },
      { ratio: 0.25, followsCaller: false },
    ],
    [
      { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" },
      { ratio: 0.25, followsCaller: true },
    ],
    [
      { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "7" },
      { ratio: 1, followsCaller: false },
    ],
    [{ OTEL_TRACES_SAMPLER: "constructor" }, { ratio: 1, followsCaller: true }],
  ])("%j sample %j", (environment, sampler) => {
    expect(readSampler(environment)).toEqual(sampler);
  });

  it("limit attributes, those of spans before those of everything", () => {
    expect(readLimits({})).toEqual({ count: 128, length: Infinity });
    const general = { OTEL_ATTRIBUTE_COUNT_LIMIT: "9", OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: "90" };
    expect(readLimits(general)).toEqual({ count: 9, length: 90 });
    expect(readLimits({ ...general, OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: "3" }).count).toBe(3);
  });

  it("say how spans wait; what is no number above zero says nothing", () => {
    expect(readQueue({})).toEqual({ delay: 5_000, maxQueue: 2_048, maxBatch: 512 });
    expect(readQueue({ OTEL_BSP_MAX_QUEUE_SIZE: "10", OTEL_BSP_SCHEDULE_DELAY: "-1" })).toEqual({
      delay: 5_000,
      maxQueue: 10,
      maxBatch: 10,
    });
    expect(readQueue({ OTEL_BSP_MAX_QUEUE_SIZE: "many" }).maxQueue).toBe(2_048);
  });

  it("say where traces go to, and the options before them", () => {
    const urls = (environment: NodeJS.ProcessEnv, endpoint?: string) =>
      readSender({ endpoint, headers: {} }, environment).url;
    expect(urls({})).toBe("http://localhost:4318/v1/traces");
    const base = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a:1/base/" };
    expect(urls(base)).toBe("http://a:1/base/v1/traces");
    expect(urls({ ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://b:2/x" })).toBe(
      "http://b:2/x",
    );
    expect(urls(base, "http://c:3")).toBe("http://c:3/v1/traces");
    expect(urls({ OTEL_EXPORTER_OTLP_ENDPOINT: "nowhere" })).toBe(
      "http://localhost:4318/v1/traces",
    );
  });

  it("add headers: those of traces over the general ones, the options over both", () => {
    const environment = {
      OTEL_EXPORTER_OTLP_HEADERS: "X-One=1, two=a%20b;meta ,=broken,empty=,bad=%zz",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-one=2,three=3",
    };
    const { headers } = readSender({ endpoint: undefined, headers: { Three: "4" } }, environment);
    expect(headers).toEqual({ "x-one": "2", two: "a b", three: "4" });
    const { headers: login } = readSender({ ...NOTHING, endpoint: "http://u:p%40@c" }, {});
    expect(login).toEqual({ authorization: `Basic ${btoa("u:p@")}` });
  });

  it("set the longest export, and compression", () => {
    const of = (environment: NodeJS.ProcessEnv) => {
      const { timeout, isCompressed } = readSender(NOTHING, environment);
      return [timeout, isCompressed];
    };
    expect(of({})).toEqual([10_000, false]);
    expect(
      of({ OTEL_EXPORTER_OTLP_TIMEOUT: "70", OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "80" }),
    ).toEqual([80, false]);
    expect(of({ OTEL_EXPORTER_OTLP_TIMEOUT: "-5", OTEL_BSP_EXPORT_TIMEOUT: "900" })).toEqual([
      900,
      false,
    ]);
    expect(of({ OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" })).toEqual([10_000, true]);
    const none = { OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: "none" };
    expect(of({ OTEL_EXPORTER_OTLP_COMPRESSION: "gzip", ...none })).toEqual([10_000, false]);
  });
});
