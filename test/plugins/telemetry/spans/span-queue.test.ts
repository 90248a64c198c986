import { diag, DiagLogLevel } from "@opentelemetry/api";
import { describe, expect, it, onTestFinished } from "vitest";
import { SpanQueue, type QueuedSpan } from "../../../../plugins/telemetry/spans/span-queue.ts";

const span = (more: Partial<QueuedSpan> = {}): QueuedSpan => ({
  scope: '"scope":{"name":"s"}',
  size: 10,
  write: () => '{"name":"x"}',
  ...more,
});

const spansIn = (body: string): number => body.split('{"name":"x"}').length - 1;

function setup(send: (body: string) => Promise<string | undefined>, maxQueue = 100) {
  const told: string[] = [];
  const tell = (message: string): void => void told.push(message);
  diag.setLogger(
    { error: tell, warn: tell, info() {}, debug() {}, verbose() {} },
    DiagLogLevel.WARN,
  );
  onTestFinished(() => diag.disable());
  const settings = { delay: 60_000, maxQueue, maxBatch: 20 };
  const limits = { count: 128, length: Infinity };
  const queue = new SpanQueue({ settings, limits, resource: "{}", send });
  return { queue, told };
}

describe("spans on their way to a collector", () => {
  it("go in batches, one at a time, and all of them with the end of the gateway", async () => {
    const bodies: string[] = [];
    let running = 0;
    const { queue, told } = setup(async (body) => {
      expect(++running).toBe(1);
      await new Promise(setImmediate);
      running--;
      bodies.push(body);
    });
    for (let n = 0; n < 50; n++) queue.add(span());
    await queue.forceFlush();
    expect(bodies.map(spansIn)).toEqual([20, 20, 10]);
    for (let n = 0; n < 50; n++) queue.add(span());
    await queue.shutdown();
    expect(bodies.map(spansIn)).toEqual([20, 20, 10, 50]);
    expect(told).toEqual([]);
  });

  it("are dropped and counted where a collector does not keep up", async () => {
    let answer = (_reason?: string): void => {};
    const { queue, told } = setup(
      () => new Promise((resolve) => (answer = (reason) => resolve(reason))),
    );
    for (let n = 0; n < 20; n++) queue.add(span());
    const first = queue.forceFlush();
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    for (let n = 0; n < 1_000; n++) queue.add(span());
    answer("the collector answers 500");
    const pump = setInterval(() => answer(), 1);
    onTestFinished(() => clearInterval(pump));
    await first;
    expect(told).toEqual([
      "20 spans are lost: the collector answers 500",
      "900 spans found no room to wait and are lost.",
    ]);
  });

  it("take no more than 16 MiB of memory, and 4 MiB of an export", async () => {
    const bodies: string[] = [];
    const { queue, told } = setup(async (body) => void bodies.push(body), 1_000);
    const large = span({ size: 1_024 * 1_024 });
    for (let n = 0; n < 18; n++) queue.add(large);
    await queue.forceFlush();
    expect(bodies.map(spansIn)).toEqual([4, 4, 4, 4]);
    expect(told.join()).toContain("2 spans found no room");
  });

  it("are written in slices: calls have their turn meanwhile", async () => {
    const { queue } = setup(async () => undefined);
    const slow = span({
      write: () => {
        const until = performance.now() + 2;
        while (performance.now() < until);
        return '{"name":"x"}';
      },
    });
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    for (let n = 0; n < 20; n++) queue.add(slow);
    setImmediate(count);
    await queue.forceFlush();
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(20);
  });
});
