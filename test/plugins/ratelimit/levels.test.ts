import { expect, it } from "vitest";
import { definePlugin, type Gateway } from "../../../core/index.ts";
import { createPrincipal } from "../../../core/kit.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import ratelimit from "../../../plugins/ratelimit/index.ts";
import { Buckets } from "../../../core/kit/buckets.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { until } from "../../kit/until.ts";

const PER_HOUR = { rates: { caller: { per: "principal", rate: 3, interval: "1h" } } };

const talker = definePlugin({
  name: "talker",
  setup: (gateway) => void gateway.tool("talk", { description: "Talks.", run: () => "hello" }),
});

async function start(kept: KeptStore, options: object = PER_HOUR): Promise<Gateway> {
  const { gateway } = await setupGateway({
    plugins: [kept.plugin, talker, [ratelimit, { ...options }]],
    config: { store: "kept" },
    client: false,
  });
  return gateway;
}

const person = (id: string) =>
  createPrincipal({ id, kind: "key", roles: new Set(["caller"] as const) });

/** How many of so many calls ran. */
async function run(gateway: Gateway, id: string, count: number): Promise<number> {
  let ran = 0;
  for (let number = 0; number < count; number++)
    await gateway.call({ server: "talker", name: "talk", principal: person(id) }).then(
      () => ran++,
      (error: unknown) => expect(error).toMatchObject({ code: "rate_limited" }),
    );
  return ran;
}

it("what was used of a bucket is used after a shutdown, too, and others' buckets are full", async () => {
  const kept = new KeptStore();
  const first = await start(kept);
  expect(await run(first, "anna", 5)).toBe(3);
  expect(await run(first, "ben", 1)).toBe(1);
  await first.close();
  const second = await start(kept);
  expect([await run(second, "anna", 2), await run(second, "ben", 4)]).toEqual([0, 2]);
  expect(await run(second, "carl", 4)).toBe(3);
});

it("what was used a moment before is used after a kill", async () => {
  const kept = new KeptStore();
  const first = await start(kept);
  await run(first, "anna", 3);
  await until(async () => (await kept.driver.get("ratelimit/levels", "caller"))?.value);
  const second = await start(kept);
  expect(await run(second, "anna", 1)).toBe(0);
});

it("limits hold while the store is away, and levels that cannot be read are no reason not to start", async () => {
  const kept = new KeptStore();
  await kept.driver.put("ratelimit/levels", "caller", '1:{"anna":1}');
  const first = await start(kept);
  kept.isAway = true;
  expect(await run(first, "anna", 5)).toBe(3);
  kept.isAway = false;
  await until(async () =>
    (await kept.driver.get("ratelimit/levels", "caller"))?.value.includes("key:anna"),
  );
  const smaller = { rates: { caller: { per: "principal", rate: 1, interval: "1s" } } };
  const second = await start(kept, smaller);
  await until(async () => (await run(second, "anna", 1)) === 1);
});

it("a level of before holds no longer than a bucket takes to fill, and never more than is there", () => {
  const buckets = new Buckets(2, 1_000);
  buckets.restore("far", 1_000_000, 0);
  expect(buckets.untilFull("far", 0)).toBe(2_000);
  buckets.restore("past", -1, 0);
  expect(buckets.remaining("past", 0)).toBe(2);
  buckets.take("used", 0);
  buckets.restore("used", 2_000, 0);
  expect(buckets.remaining("used", 0)).toBe(1);
  expect([...buckets.levels(0)].map(([key]) => key)).toEqual(["far", "used"]);
});
