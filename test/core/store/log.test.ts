import { pino } from "pino";
import { expect, it, onTestFinished, vi } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";

it("entries that are too old, and not dropped yet, hide none that are young", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const store = GatewayStore.inMemory(pino({ level: "silent" })).scope("tests");
  const patient = store.log<number>("visits", { maxEntries: 10_000 });
  await patient.append(...Array.from({ length: 250 }, (_, index) => index));
  vi.setSystemTime(2_000_000);
  await patient.append(1_000, 1_001);
  const visits = store.log<number>("visits", { maxEntries: 10_000, maxAge: 60_000 });
  expect((await visits.read()).map(({ value }) => value)).toEqual([1_000, 1_001]);
  const told: number[] = [];
  const stop = await visits.follow(0, ({ value }) => told.push(value));
  expect(told).toEqual([1_000, 1_001]);
  vi.setSystemTime(3_000_000);
  expect(await visits.read()).toEqual([]);
  await stop();
});
