import { Registry } from "prom-client";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { run } from "../../../plugins/sidecar/life.ts";
import { Failure, type Reason } from "../../../plugins/sidecar/message/failure.ts";
import { sizeOf } from "../../../plugins/sidecar/message/headers.ts";
import { Limit } from "../../../plugins/sidecar/message/limit.ts";
import { failedTask } from "../../../plugins/sidecar/message/task.ts";
import { MemoryTransport } from "../../../plugins/sidecar/memory.ts";
import { optionsSchema } from "../../../plugins/sidecar/options.ts";
import { readManifest } from "../../../plugins/sidecar/runtime/manifest.ts";
import { settle } from "../../../plugins/sidecar/settings.ts";
import { registerMetrics } from "../../../plugins/sidecar/metrics.ts";

it.each<[Reason, passing: boolean, absence: boolean]>([
  ["unavailable", true, true],
  ["unreachable", true, true],
  ["runtime_error", true, false],
  ["timeout", true, false],
  ["busy", false, false],
  ["rate_limited", false, false],
  ["refused", false, false],
  ["invalid_answer", false, false],
])("a failure by %s may pass: %s, and the runtime is away: %s", (reason, passing, absence) => {
  const { isPassing, isAbsence } = new Failure(reason, "why");
  expect([isPassing, isAbsence]).toEqual([passing, absence]);
});

it("a task that was given up says after how many deliveries, and in which conversation", () => {
  const textOf = (deliveries: number): unknown =>
    failedTask("t", new Failure("refused", "no"), deliveries, undefined).status.message?.parts[0];
  expect(textOf(1)).toEqual({ text: "The task was given up after one delivery: no" });
  expect(textOf(3)).toEqual({ text: "The task was given up after 3 deliveries: no" });
  const failed = failedTask("t", new Failure("refused", "no"), 2, "c");
  expect(failed).toMatchObject({
    contextId: "c",
    metadata: { deadLetter: { reason: "refused", deliveries: 2 } },
  });
  expect(failedTask("t", new Failure("refused", "no"), 2, undefined)).not.toHaveProperty(
    "contextId",
  );
});

it("headers take their names and values, four bytes each, and 1 KiB for those of every message", () => {
  expect(sizeOf({})).toBe(1_024);
  expect(sizeOf({ a: "1", "Task-Owner": "key:ä" })).toBe(1_024 + (1 + 1 + 4) + (10 + 6 + 4));
});

describe("a limit", () => {
  it("ends with its signal, also with one that has ended, and after its time", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const parent = new AbortController();
    const [below, alone, cleared] = [
      new Limit(parent.signal, 1_000),
      new Limit(undefined, 1_000),
      new Limit(parent.signal, 500),
    ];
    cleared.clear();
    vi.advanceTimersByTime(999);
    expect([below, alone].map(({ signal }) => signal.aborted)).toEqual([false, false]);
    parent.abort();
    vi.advanceTimersByTime(1);
    const ends = [below, alone, cleared].map(({ signal, isLate }) => [signal.aborted, isLate]);
    expect(ends[0]![0]).toBe(true);
    expect(ends.slice(1)).toEqual([
      [true, true],
      [false, false],
    ]);
    const late = new Limit(parent.signal, 1_000);
    expect([late.signal.aborted, late.isLate]).toEqual([true, false]);
  });
});

it("the metrics count deliveries, those that were not the first, and tasks given up", async () => {
  const registry = new Registry();
  const transport = { lag: async () => ({ waiting: 2, running: 1 }) };
  const told = registerMetrics(
    registry,
    transport as never,
    { tasks: [], state: "ready" } as never,
  );
  told({ outcome: "done" } as never, 1, 20);
  told({ outcome: "done" } as never, 2, 2_000);
  told({ outcome: "dead", failure: new Failure("refused", "no") } as never, 3, 20);
  const text = await registry.metrics();
  for (const line of [
    'sidecar_deliveries_total{outcome="done"} 2',
    'sidecar_deliveries_total{outcome="dead"} 1',
    "sidecar_redeliveries_total 2",
    'sidecar_dead_letters_total{reason="refused"} 1',
    'sidecar_task_duration_seconds_bucket{le="0.05"} 2',
    "sidecar_task_duration_seconds_sum 2.04",
    'sidecar_queue_tasks{state="waiting"} 2',
    "sidecar_tasks_running 0",
    "sidecar_ready 1",
  ])
    expect(text.split("\n")).toContain(line);
});

it("a manifest that cannot be read is told with the code of its error", async () => {
  await expect(readManifest("/nowhere/manifest.json")).rejects.toMatchObject({
    code: "io_error",
    message: "The manifest cannot be read (ENOENT).",
  });
});

it("the queue of one process holds 10,000 tasks, of 256 MiB, and counts none twice", async () => {
  const setup = () =>
    new MemoryTransport(settle(optionsSchema.parse({ name: "desk" }), {}, "/config"));
  const parcel = (key: string, data = Buffer.alloc(0)) => ({ key, data, headers: {} });
  const many = setup();
  for (let count = 0; count < 10_000; count++) await many.submit("desk", parcel(`${count}`));
  await many.submit("desk", parcel("0"));
  expect(() => many.submit("desk", parcel("more"))).toThrow("The queue holds 10000 tasks already.");
  const large = setup();
  const part = Buffer.alloc(64 * 1_024 * 1_024);
  for (let count = 0; count < 4; count++) await large.submit("desk", parcel(`${count}`, part));
  expect(() => large.submit("desk", parcel("more", Buffer.alloc(1)))).toThrow("holds 4 tasks");
  await large.submit("desk", parcel("empty"));
});

it.each([
  ["10s", 30_000, undefined, 10_000],
  ["10s", 30_000, ["runtime"], 7_000],
  ["2s", 30_000, ["runtime"], 0],
  ["60s", 30_000, ["runtime"], 30_000],
])(
  "of a shutdown of %s, and a grace of %i ms, tasks get what a child leaves: %j, %i ms",
  (process, grace, command, left) => {
    const end = vi.fn<(ms: number) => Promise<void>>(async () => {});
    let drain = (): void => {};
    const gateway = {
      keep: (_name: string, make: () => unknown) => make(),
      hook: (_name: string, told: () => void) => void (drain = told),
      onStart: () => {},
      info: { effectiveConfig: () => ({ timeouts: { grace: process } }) },
    };
    const settings = { grace, runtime: { command, stopTimeout: 3_000 } };
    run(gateway as never, { settings, worker: { end } } as never);
    drain();
    expect(end.mock.calls).toEqual([[left]]);
  },
);
