import { pino } from "pino";
import { expect, it, onTestFinished, vi } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import { PassingEvents, type PassingEvent } from "../../../plugins/events/passing-events.ts";

/** Two gateways of one store; the first reads along at the second. */
async function startPair() {
  const driver = Object.assign(new MemoryDriver(), { shared: true });
  const heard: PassingEvent[] = [];
  let missed = 0;
  const start = async (tell: ConstructorParameters<typeof PassingEvents>[1]) => {
    const store = new GatewayStore(driver, pino({ level: "silent" }));
    await store.join();
    onTestFinished(() => store.close());
    const fleet = new PassingEvents(store.scope("events"), tell);
    await fleet.open();
    onTestFinished(() => fleet.close());
    return fleet;
  };
  const reader = await start((part) => {
    heard.push(...part.events);
    missed += part.missed;
  });
  return { reader, other: await start(() => {}), heard, missed: () => missed };
}

/** Long enough for a look at the store. */
async function takeTurns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

it("readers that come and go, or change what they want, have the others asked a few times", async () => {
  const { reader, other, heard } = await startPair();
  const sent = vi.spyOn(MemoryDriver.prototype, "publish");
  onTestFinished(() => sent.mockRestore());
  const asked = (): number =>
    sent.mock.calls.filter(([, text]) => text.includes('"ask":"events/passing"')).length;
  for (let turn = 0; turn < 50; turn++) {
    reader.want(["progress"], "fatal");
    await takeTurns();
    reader.want(["progress", "log"], turn % 2 === 0 ? "info" : "warn");
    await takeTurns();
    reader.want([], "fatal");
    await takeTurns();
  }
  reader.want(["progress"], "fatal");
  await expect.poll(() => other.isRead("progress")).toBe(true);
  expect(asked()).toBeLessThan(10);
  other.offer({ kind: "progress", data: { step: 1 } });
  await expect.poll(() => heard.map(({ data }) => data)).toEqual([{ step: 1 }]);
});

it("what nobody reads any more is not asked for after a while", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { reader, other } = await startPair();
  reader.want(["progress", "log"], "info");
  await expect.poll(() => other.isRead("log")).toBe(true);
  reader.want(["progress"], "fatal");
  await vi.advanceTimersByTimeAsync(2_000);
  await expect.poll(() => other.isRead("log")).toBe(false);
  expect(other.isRead("progress")).toBe(true);
  reader.want([], "fatal");
  await vi.advanceTimersByTimeAsync(2_000);
  await expect.poll(() => other.isRead("progress")).toBe(false);
});

it("large events that a gateway does not take in time are left out and counted", async () => {
  const { reader, other, heard, missed } = await startPair();
  reader.want(["log"], "info");
  await expect.poll(() => other.isRead("log")).toBe(true);
  const line = { msg: "x".repeat(300_000) };
  for (let step = 0; step < 20; step++)
    other.offer({ kind: "log", level: "info", data: { step, line } });
  await expect.poll(() => heard.length + missed()).toBe(20);
  expect(heard).toHaveLength(3);
  other.offer({ kind: "log", level: "info", data: { line: { msg: "x".repeat(2_000_000) } } });
  await expect.poll(missed).toBe(18);
});
