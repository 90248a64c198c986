import { pino } from "pino";
import { expect, it, onTestFinished, vi } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";

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

it("an entry that is told of while a follower ends its last look is not forgotten", async () => {
  /** Nothing is behind a look until some turns after it. */
  class Late extends MemoryDriver {
    turns = 0;

    override async read(...args: Parameters<MemoryDriver["read"]>) {
      const entries = await super.read(...args);
      if (entries.length === 0) void this.#write(args[0], this.turns--);
      return entries;
    }

    async #write(log: string, turns: number): Promise<void> {
      if (turns <= 0) return;
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      await this.append(log, ["1:7"]);
    }
  }
  const driver = new Late();
  const gateway = new GatewayStore(driver, pino({ level: "silent" }));
  onTestFinished(() => gateway.close());
  const log = gateway.scope("tests").log<number>("visits", { maxEntries: 1_000 });
  let told = 0;
  driver.turns = 40;
  await log.follow(0, () => told++);
  // One more after each look that found nothing, each a turn earlier than the one before.
  await expect.poll(() => told).toBe(40);
});
