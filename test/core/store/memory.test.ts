import { expect, it } from "vitest";
import { testStore } from "../../../core/testing/index.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";

testStore("memory", {
  open: () => Promise.resolve(new MemoryDriver()),
  steps: Number(process.env["STORE_STEPS"] ?? 800),
});

it("keeps no values that ended, also when nobody asks for them again", async () => {
  const driver = new MemoryDriver();
  await driver.put("bucket", "forever", "1");
  for (let at = 0; at < 5_000; at++)
    await driver.put("bucket", `key${at}`, "x".repeat(100), { until: Date.now() - 1 });
  expect(driver.size).toBeLessThanOrEqual(1_010);
  expect((await driver.list("bucket", { prefix: "", limit: 10 })).map(({ key }) => key)).toEqual([
    "forever",
  ]);
});
